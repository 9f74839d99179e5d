import { WITHHELD } from "../diff/filter.ts";
import { didYouMean, nearMisses } from "./near-misses.ts";
import { pathKeys, refusePrivate } from "./resolve-path.ts";
import { type ChangedFile, type ToolContext, ToolError } from "./tool.ts";

/** The changed file of a path, its old one accepted too. Throws a ToolError that says what is wrong and what to try. */
export async function findChange(given: string, context: ToolContext): Promise<ChangedFile> {
  const keys = pathKeys(given, context);
  const files = await context.diffs.files();
  const named = (path: string | null) => path !== null && keys.includes(path);
  const found =
    files.find(({ change }) => named(change.path)) ?? files.find(({ change }) => named(change.oldPath));
  if (found) {
    refusePrivate(found.change.path, context);
    if (found.change.oldPath !== null && context.isPrivate(found.change.oldPath)) {
      throw new ToolError(
        `the diff of '${found.change.path}' is ${WITHHELD}: it was renamed from a private path`,
      );
    }
    return found;
  }
  refusePrivate(keys[0], context);
  throw await notChanged(keys[0], files, context);
}

async function notChanged(
  key: string,
  files: readonly ChangedFile[],
  context: ToolContext,
): Promise<ToolError> {
  if ((await context.workspace.tree("head")).has(key)) {
    return new ToolError(`'${key}' is not changed here, so it has no diff; read_file_part reads it`);
  }
  const visible = files.map(({ change }) => change.path).filter((path) => !context.isPrivate(path));
  const suggestions = nearMisses(key, visible);
  const hint = suggestions.length > 0 ? didYouMean(suggestions) : "; changed_files lists what changed";
  return new ToolError(`no changed file '${key}'${hint}`);
}
