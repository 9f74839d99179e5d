import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hono } from "hono";
import { type DefaultTreeAdapterMap, parse } from "parse5";
import { findings } from "../../src/pages/findings.ts";
import { insights } from "../../src/pages/insights.ts";
import { now } from "../../src/pages/now.ts";
import { review } from "../../src/pages/review.ts";
import { reviews } from "../../src/pages/reviews.ts";
import type { PagesEnv, Viewer, VisibleRepository } from "../../src/pages/viewer.ts";
import type { Run } from "../../src/server/queue/database.ts";
import { openReader } from "../../src/server/queue/reader.ts";
import { openSqliteDatabase } from "../../src/server/queue/sqlite-database.ts";

export const dayMs = 86_400_000;

export const person = (repositories: readonly VisibleRepository[]): Viewer => ({
  ...{ account: 1, login: "ann", isOperator: false, repositories },
});
export const operator = (repositories: readonly VisibleRepository[] = []): Viewer => ({
  ...person(repositories),
  isOperator: true,
});

/** A database in a folder of its own, with a reader beside it. */
export async function ownDatabase() {
  const dataFolder = mkdtempSync(join(tmpdir(), "hunkwise-pages-"));
  const database = openSqliteDatabase(dataFolder);
  const reader = await openReader({ databaseUrl: null, dataFolder });
  return {
    dataFolder,
    database,
    reader,
    async remove() {
      await reader.close();
      await database.close();
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}
export type OwnDatabase = Awaited<ReturnType<typeof ownDatabase>>;

/** An application that finds the viewer logged in. */
export const appFor = (viewer: Viewer): Hono<PagesEnv> =>
  new Hono<PagesEnv>().use(async (context, next) => {
    context.set("viewer", viewer);
    await next();
  });

/** The pages as somebody gets them who is logged in. */
export function pagesOf(run: Run, viewer: Viewer, time: number, installationConcurrency = 1): Hono<PagesEnv> {
  const deps = { run, webUrl: "https://github.com", now: () => time };
  return appFor(viewer)
    .route("/", now({ ...deps, installationConcurrency }))
    .route("/", reviews(deps))
    .route("/", review({ ...deps, retentionMs: 30 * dayMs }))
    .route("/", findings(deps))
    .route("/", insights(deps));
}

type Node = DefaultTreeAdapterMap["node"];
type Element = DefaultTreeAdapterMap["element"];

/** A page as another parser reads it. */
export interface ParsedPage {
  /** Every element with the names of its attributes, in their order. */
  skeleton: string[];
  elements: Element[];
  /** All text. */
  text: string;
  /** The values of attributes that are addresses. */
  addresses: string[];
}

export function parsePage(html: string): ParsedPage {
  const page: ParsedPage = { skeleton: [], elements: [], text: "", addresses: [] };
  const visit = (node: Node) => {
    if ("tagName" in node) {
      page.skeleton.push(`${node.tagName} ${node.attrs.map(({ name }) => name).join(" ")}`);
      page.elements.push(node);
      for (const { name, value } of node.attrs)
        if (["href", "src", "action", "formaction"].includes(name)) page.addresses.push(value);
    }
    if ("value" in node) page.text += node.value;
    if (node.nodeName === "#comment") page.skeleton.push("comment");
    if ("childNodes" in node) for (const child of node.childNodes) visit(child);
  };
  visit(parse(html));
  return page;
}

/** The address of a link by its `rel`. */
export function linkOf({ elements }: ParsedPage, rel: "next" | "prev"): string | null {
  const found = elements.find(
    ({ tagName, attrs }) =>
      tagName === "a" && attrs.some(({ name, value }) => name === "rel" && value === rel),
  );
  return found?.attrs.find(({ name }) => name === "href")?.value ?? null;
}

/** Records of CSV, by the rules of RFC 4180. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      let cell = "";
      if (text[at] === '"') {
        at++;
        for (;;) {
          if (text[at] === undefined) throw new Error("a quote is not closed");
          if (text[at] === '"' && text[at + 1] === '"') at++;
          else if (text[at] === '"') break;
          cell += text[at++];
        }
        at++;
      } else {
        while (text[at] !== undefined && text[at] !== "," && text[at] !== "\r" && text[at] !== "\n") {
          if (text[at] === '"') throw new Error("a quote within a cell without quotes");
          cell += text[at++];
        }
      }
      record.push(cell);
      if (text[at] !== ",") break;
      at++;
    }
    if (text.slice(at, at + 2) !== "\r\n") throw new Error(`no end of line at ${at}`);
    at += 2;
    records.push(record);
  }
  return records;
}
