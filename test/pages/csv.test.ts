import fc from "fast-check";
import { expect, it } from "vitest";
import { showHidden } from "../../src/core/text/escape-invisible.ts";
import { csvAnswer } from "../../src/pages/listing.ts";
import { csvLine } from "../../src/report/csv.ts";
import { parseCsv } from "./rendered.ts";

const cells = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    '"',
    ",",
    'a"b',
    "a,b\r\nc",
    "＝1",
    "'",
    "",
  ),
);

it("A line of CSV holds the same text after another program has read it, except for a mark before formulas", () => {
  fc.assert(
    fc.property(fc.array(cells, { minLength: 1 }), (given) => {
      const [record, ...others] = parseCsv(csvLine(given));
      expect(others).toEqual([]);
      expect(record?.map((cell) => cell.replace(/^'(?=\s*[=+\-@\t\r\n＝＋－＠])/, ""))).toEqual(
        given.map((cell) => showHidden(cell).replace(/^'(?=\s*[=+\-@\t\r\n＝＋－＠])/, "")),
      );
    }),
  );
});

it("A line of CSV holds no text that a spreadsheet takes for a formula, however it cuts white space off", () => {
  fc.assert(
    fc.property(
      fc.tuple(
        fc.constantFrom("", " ", "\t", "\r", "\n", "\u00a0", "\u0000"),
        fc.constantFrom("=", "+", "-", "@", "＝"),
        fc.string(),
      ),
      (parts) => {
        const [[cell = ""] = []] = parseCsv(csvLine([parts.join("")]));
        expect(cell.replace(/^\s+/, "")).not.toMatch(/^[=+\-@＝＋－＠]/);
      },
    ),
  );
});

it("A line of CSV leaves numbers and empty cells as they are", () => {
  expect(csvLine([-1, 0.25, null, "a"])).toBe("-1,0.25,,a\r\n");
});

it("A file of CSV is a download, and is written as its lines come", async () => {
  let asked = 0;
  async function* lines() {
    for (;;) yield [`line ${++asked}`];
  }
  const answer = csvAnswer("x.csv", ["name"], lines());
  expect(answer.headers.get("content-disposition")).toBe('attachment; filename="x.csv"');
  const reader = answer.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("name\r\n");
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("line 1\r\n");
  await reader?.cancel();
  expect(asked).toBeLessThan(5);
});
