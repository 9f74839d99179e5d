import type { Content } from "../../support/git-repo.ts";
import type { Places } from "./places.ts";

const link = (target: string): Content => ({ mode: "120000", data: target });

/** Links to every secret, by the names in `linkPaths`. */
export function linksOf({ keyFile, home, dataFolder, neighbor }: Places): Record<string, Content> {
  return {
    "links/to-key": link(keyFile),
    "links/to-environment": link("/proc/self/environ"),
    "links/to-root": link("/"),
    "links/to-home": link(home),
    "links/to-database": link(`${dataFolder}/queue.db`),
    "links/to-neighbor": link(neighbor.checkout),
    "links/to-folder-above": link("../../../../../.."),
    "links/chain": link("to-root"),
    "links/circle": link("circle"),
    "links/to-git": link("../.git"),
    "links/inside": link("../src/parser.ts"),
  };
}

const lines = (count: number, text: (line: number) => string) =>
  Array.from({ length: count }, (_, at) => `${text(at + 1)}\n`).join("");

/** The files that the examples of the tools use, so that a call with one hostile argument fails because of it. */
const parser = `export class Parser {\n  next() {\n    return parseRange(1);\n  }\n}\n${lines(80, (line) => `export const parsed${line} = ${line};`)}`;

const retry = (sign: string) =>
  `${lines(41, (line) => `export const wait${line} = ${line};`)}  for (let attempt = 0; attempt ${sign} retries; attempt++) {\n    send(attempt);\n  }\n${lines(40, (line) => `export const step${line} = ${line};`)}`;

export const baseFiles: Record<string, Content> = { "src/parser.ts": parser, "src/retry.ts": retry("<") };

/** A change in which every tool finds something. */
export const headFiles: Record<string, Content> = {
  "src/parser.ts": parser.replace("parsed7 = 7;", "parsed7 = 8;"),
  "src/retry.ts": retry("<="),
};

/** The next push: it changes lines next to earlier comments. */
export const laterFiles: Record<string, Content> = {
  "src/parser.ts": parser.replace("parsed7 = 7;", "parsed7 = 8;").replace("parsed9 = 9;", "parsed9 = 10;"),
  "src/retry.ts": retry("<=").replace("send(attempt)", "send(attempt + 1)"),
};
