import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A lock file that a tool (`by` in its fixture) wrote, again and again while people changed the project. */
export interface Written {
  tool: string;
  path: string;
  states: { name: string; text: string; before: string | null }[];
}

interface State {
  name: string;
  fresh?: true;
  /** Lines to remove at a place of the text before, and lines in their place. */
  edits: [at: number, removed: number, added: string[]][];
}

const folder = join(import.meta.dirname, "../../../../fixtures/locks");

/** All files of `fixtures/locks`: each state is stored as what it changes in the one before. */
export const written: Written[] = readdirSync(folder).map((file) => {
  const { path, states } = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
    path: string;
    states: State[];
  };
  let lines: string[] = [];
  const texts = states.map(({ name, fresh, edits }) => {
    const before = lines.length === 0 || fresh === true ? null : lines.join("\n");
    const now = fresh === true ? [] : [...lines];
    for (const [at, removed, added] of edits.toReversed()) now.splice(at, removed, ...added);
    lines = now;
    return { name, text: lines.join("\n"), before };
  });
  return { tool: file.replace(".json", ""), path, states: texts };
});

/** The last lock file of a tool, with its name. */
export function lastOf(tool: string): { path: string; text: string } {
  const found = written.find((one) => one.tool === tool);
  const text = found?.states.at(-1)?.text;
  if (found === undefined || text === undefined) throw new Error(`no fixture of ${tool}`);
  return { path: found.path, text };
}
