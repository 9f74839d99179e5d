import { createHash } from "node:crypto";
import { AppError } from "../errors.ts";
import type { Ref, Workspace } from "../git/workspace.ts";
import type { GraphSource } from "./graph.ts";

/**
 * The regular files of a revision. Private ones are not among them: what is not read cannot be told.
 *
 * @param isPrivate true for paths that the configuration withholds
 */
export async function sourceOfWorkspace(
  workspace: Workspace,
  isPrivate: (path: string) => boolean,
  ref: Ref = "head",
): Promise<GraphSource> {
  const tree = await workspace.tree(ref);
  const files = [...tree.values()].filter(({ path, mode }) => mode.startsWith("100") && !isPrivate(path));
  return {
    files: files.map(({ path, oid }) => ({ path, oid })),
    async read(oid) {
      try {
        const { text, binary } = await workspace.readBlob(oid);
        return binary ? null : text;
      } catch (error) {
        if (error instanceof AppError && error.code === "too_large") return null;
        throw error;
      }
    },
  };
}

/** Texts by their paths. */
export function sourceOfTexts(texts: ReadonlyMap<string, string>): GraphSource {
  const byOid = new Map<string, string>();
  const files = [...texts].map(([path, text]) => {
    const oid = createHash("sha1").update(text).digest("hex");
    byOid.set(oid, text);
    return { path, oid };
  });
  return { files, read: async (oid) => byOid.get(oid) ?? null };
}
