import { describe, expect, it } from "vitest";
import { formatOfName, formats, renderResult } from "../../src/cli/render-result.ts";
import { sampleFinding, sampleResult } from "../report/sample-result.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

const token = writeOut("ghp_{base62:36}", seeded(3));

describe("A report of the command line", () => {
  it.each(formats)("A report as %s has no secret, also not of the code around a finding", async (format) => {
    const finding = sampleFinding({ line: 2, start_line: null, body: `Like ${token}` });
    const text = await renderResult(
      format,
      sampleResult({ findings: [{ finding, placement: { kind: "inline" } }] }),
      {
        range: { base: "main", head: "HEAD", commits: "1 commit" },
        source: () => [`const token = "${token}";`, "run(token);", "}"],
        color: true,
        width: 100,
      },
    );
    expect(text).not.toContain(token.slice(8, 24));
    expect(text).toContain("[secret]");
    if (format === "json" || format === "sarif") expect(() => JSON.parse(text)).not.toThrow();
  });
});

it("A file's name stands for a format by its ending", () => {
  const names = [
    "a.sarif",
    "A.SARIF",
    "a.sarif.json",
    "a.json",
    "a.md",
    "a.markdown",
    "a.txt",
    "sarif",
    "md/a",
    "a.rdjson",
    "a.RDJSONL",
    "rdjson",
  ];
  expect(names.map(formatOfName)).toEqual([
    ...["sarif", "sarif", "sarif", "json", "markdown", "markdown"],
    ...[null, null, null, "rdjson", "rdjsonl", null],
  ]);
});
