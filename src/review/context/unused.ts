import { type DefinitionSite, fullName, isPrivate, isRun, isType } from "../../code/code-file.ts";
import { isCommonName } from "../../code/names.ts";
import { isTestFile } from "../../code/test-file.ts";
import { showPath } from "../../tools/show.ts";
import { namesOf } from "./callers.ts";
import type { Changed } from "./changed.ts";
import type { Lookup, WordHits } from "./lookup.ts";

/** Maximum definitions that are named. */
const MAX_NAMED = 10;

/** Names that a runtime calls, and those that a framework finds. */
const calledByOthers = /^(?:main|Main|init|setup|run|handler|default|__\w+__|test\w*|on[A-Z]\w*)$/;

/**
 * Says of changed definitions that nothing outside tests names them. Says nothing if the search was not complete, if the name is common, or
 * if something may use it without its name: an annotation, an interface.
 */
export function unusedLines(changed: readonly Changed[], lookup: Lookup, hits: WordHits): string[] {
  const lines = changed.flatMap((one) => {
    const { after, path, name } = one;
    if (after === null || !isTold(one, after, lookup) || !hits.isComplete(name) || hits.isCommon(name))
      return [];
    const { definition } = after;
    const found = hits.of(name);
    const uses = found.filter(
      ({ path: at, line }) =>
        !isTestFile(at) && (at !== path || line < definition.docStart || line > definition.end),
    );
    if (found.length === 0 || uses.length > 0) return [];
    const tests = found.some((hit) => isTestFile(hit.path)) ? "Only tests name" : "Nothing else names";
    return [`${tests} ${fullName(definition)} (${showPath(path)}:${definition.start}).`];
  });
  return lines.slice(0, MAX_NAMED);
}

/** Whether a missing use says something: whoever uses the definition writes its name. */
function isTold(one: Changed, after: DefinitionSite, lookup: Lookup): boolean {
  const { file, definition } = after;
  const { name } = definition;
  if (!(isRun(definition) || isType(definition) || definition.kind === "constant")) return false;
  if (namesOf(one)[0] !== name || isCommonName(name) || calledByOthers.test(name) || isPrivate(after))
    return false;
  if (/^\s*(?:@|#\[|\[)/.test(file.lines[definition.start - 1] ?? "")) return false;
  // Another definition of the name may be a declaration that this one implements.
  return lookup
    .definitions(name)
    .every((other) => other.file.path === one.path && other.definition.start === definition.start);
}
