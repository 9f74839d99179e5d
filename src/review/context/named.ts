import { fullName, isType } from "../../code/code-file.ts";
import { bestTargets, fitOf } from "../../code/names.ts";
import { isTestFile } from "../../code/test-file.ts";
import type { Changed } from "./changed.ts";
import type { Lookup } from "./lookup.ts";
import type { Piece } from "./pieces.ts";

const NAMED = 0.65;
/** Definitions up to this length are shown whole, longer ones from their beginning. */
const MAX_LINES = 25;
const MAX_DOC_LINES = 8;
/** Maximum definitions that one changed definition names. */
const SHOWN = 6;
const REPEATED = 0.1;

const valueKinds: ReadonlySet<string> = new Set(["constant", "variable"]);

/** Constants, types and enumerations that added lines name and the old code did not. Functions are `calleePieces`, members `memberPieces`. */
export function namedPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const { after } = one;
    if (after === null) return [];
    const names = [...new Set([...one.newNames, ...one.newTypes])];
    const sites = names.flatMap((name) => {
      const known = lookup
        .definitions(name)
        .filter(
          ({ definition }) =>
            isType(definition) || (valueKinds.has(definition.kind) && definition.container === null),
        )
        .filter(({ file }) => !isTestFile(file.path) || isTestFile(one.path))
        .filter(({ file, definition: { start, end } }) => !isAround(one, file.path, start, end))
        // A variable of another function is not meant.
        .filter(({ file, definition }) => !isLocal(file.lines[definition.start - 1] ?? "", file.path));
      const use = { file: after.file, around: after.definition, receiver: null };
      const rated = known.map((site) => ({ ...site, fit: fitOf(use, site) }));
      return bestTargets(name, rated, 2).slice(0, 1);
    });
    return sites
      .toSorted((a, b) => b.fit - a.fit)
      .map(({ file, definition, fit }, at): Piece => {
        const start = Math.max(definition.docStart, definition.start - MAX_DOC_LINES);
        return {
          ...{ kind: "named", file },
          ranges: [{ start, end: Math.min(definition.end, definition.start + MAX_LINES - 1) }],
          extent: { start: definition.start, end: definition.end },
          line: definition.start,
          subject: definition.name,
          title: `${definition.kind} ${fullName(definition)}, which ${fullName(after.definition)} now names`,
          score: at < SHOWN ? (one.risk * NAMED * fit) / (1 + at * REPEATED) : 0,
          mayBeCut: true,
        };
      });
  });
}

/** Whether the changed definition lies within these lines. */
const isAround = ({ path, after }: Changed, at: string, start: number, end: number) =>
  after !== null && at === path && start <= after.definition.start && end >= after.definition.end;

/** Whether a definition is indented: it belongs to a block, of which only Python's, Ruby's and a namespace's hold global ones. */
const isLocal = (text: string, path: string) =>
  /^\s+(?:const|let|var|val|auto)\b/.test(text) ||
  (/^\s+\w+\s*:?=/.test(text) && !/\.(?:rb|cs|java|kt|php)$/.test(path));
