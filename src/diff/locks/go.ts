import { entryOf, type Lock } from "./lock.ts";
import { refuse } from "./parse.ts";

const sumLine = /^([\w.~-]+(?:\/[\w.~!+-]+)*) (v[\w.+-]+)(\/go\.mod)? h1:([A-Za-z\d+/]{42,43}=)$/;

/** Reads `go.sum` and `go.work.sum`. A module's name is its address, and `go.mod`, which is reviewed, decides what is installed. */
export function goSum(text: string): Lock {
  const lines = text.split("\n").filter((line) => line !== "");
  const entries = lines.map((line, at) => {
    const [, name = "", version = "", manifest = "", hash = ""] =
      sumLine.exec(line) ?? refuse("a line of an unknown form");
    return entryOf({
      id: String(at),
      name,
      version: version + manifest,
      line,
      hashes: [["module h1", hash]],
    });
  });
  return { entries };
}
