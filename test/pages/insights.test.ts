import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRepository, seedHistory } from "../support/seeded-history.ts";
import {
  type OwnDatabase,
  operator,
  ownDatabase,
  type ParsedPage,
  pagesOf,
  parseCsv,
  parsePage,
  person,
} from "./rendered.ts";

const time = Date.parse("2026-11-27T08:00:00Z");
const seen = [seededRepository(0), seededRepository(3)];

describe("the page Insights", () => {
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await ownDatabase();
    const { database } = own;
    await seedHistory(database, { runs: 600, repositories: 4, days: 100, now: time });
    await database.run("UPDATE repository SET name = :name WHERE id = :id", {
      name: "<b>=cmd|\u202e",
      id: seededRepository(1).id,
    });
  });
  afterAll(() => own.remove());

  const get = async (address: string, viewer = person(seen)) =>
    (await pagesOf(own.reader.run, viewer, time).request(address)).text();

  /** Links whose whole text is a number, to the lists behind. */
  function numbersOf(page: ParsedPage): { address: string; count: number }[] {
    return page.elements.flatMap((element) => {
      const address = element.attrs.find(({ name }) => name === "href")?.value ?? "";
      const [first] = element.childNodes;
      const text = first && "value" in first ? first.value : "";
      const isCount =
        element.tagName === "a" && /^\/(reviews|findings)\?/.test(address) && /^[\d,]+$/.test(text);
      return isCount ? [{ address, count: Number(text.replaceAll(",", "")) }] : [];
    });
  }

  it("The page Insights opens the list behind every number: as many rows as the number says", async () => {
    const numbers = numbersOf(parsePage(await get("/insights?days=30")));
    expect(numbers.length).toBeGreaterThan(60);
    const wrong: string[] = [];
    for (const { address, count } of numbers) {
      const csv = await get(address.replace("?", ".csv?"));
      const rows = parseCsv(csv).length - 1;
      if (rows !== count) wrong.push(`${address} has ${rows} rows, not ${count}`);
    }
    expect(wrong).toEqual([]);
  });

  it("The page Insights describes the last week and the present one in sentences", async () => {
    const { text } = parsePage(await get("/insights"));
    expect(text).toMatch(/Last week \(from 2026-11-16\): \d+ reviews? cost\s+\$[\d.]+/);
    expect(text).toMatch(/This week so far \(from 2026-11-23\): \d+ reviews? cost/);
    expect(text).toContain("Ignored");
    expect(text).toContain("Open at the merge: nobody changed its lines or decided about it.");
  });

  it("The page Insights counts only what the person may see; an operator's counts have all", async () => {
    const csv = async (viewer = person(seen)) =>
      parseCsv(await get("/insights.csv?by=repository&days=90", viewer));
    expect((await csv()).slice(1).map(([name]) => name)).toEqual(["octo/repo-1", "octo/repo-4"]);
    const all = await csv(operator());
    expect(all.slice(1).map(([name]) => name)).toEqual([
      "octo/<b>=cmd|\\u{202E}",
      "octo/repo-1",
      "octo/repo-4",
    ]);
    expect(await get("/insights?repository=octo/repo-4")).toBe(
      await get("/insights?repository=octo/repo-4&days=30"),
    );
    expect(parsePage(await get("/insights?repository=octo/repo-3")).text).toContain(
      "No review in this time.",
    );
  });

  it("The page Insights shows what a name hides, and makes no element of it", async () => {
    const page = parsePage(await get("/insights", operator()));
    expect(page.text).toContain("octo/<b>=cmd|\\u{202E}");
    expect(page.elements.filter(({ tagName }) => tagName === "b")).toEqual([]);
  });

  it("The page Insights draws its charts without a script, each bar with a text and a link", async () => {
    const page = parsePage(await get("/insights"));
    expect(page.elements.filter(({ tagName }) => tagName === "script")).toEqual([]);
    // Programs that read pages aloud get the caption and the tables.
    const charts = page.elements.filter(({ tagName }) => tagName === "svg");
    expect(charts.map(({ attrs }) => attrs.find(({ name }) => name === "aria-hidden")?.value)).toEqual([
      "true",
      "true",
    ]);
    for (const name of [
      "Cost in each week",
      "Outcomes of findings, by the week in which their pull request was merged",
    ])
      expect(page.text).toContain(name);
    const titles = page.elements.filter(
      ({ tagName, parentNode }) => tagName === "title" && parentNode?.nodeName === "a",
    );
    expect(titles).toHaveLength(10);
  });

  it("The page Insights answers any query", async () => {
    for (const query of [
      "days=-1",
      "days=9999",
      "days=x&repository=%00",
      "by=../../x",
      "repository=octo/none",
    ])
      expect((await pagesOf(own.reader.run, person(seen), time).request(`/insights?${query}`)).status).toBe(
        200,
      );
  });
});
