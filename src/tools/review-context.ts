import type { ReviewContext, ToolContext } from "./tool.ts";

/** The review context of a run as data; private files stand in it by name, as they do in `changed_files`. */
export async function reviewContext(context: ToolContext): Promise<ReviewContext> {
  const { root, shas } = context.workspace;
  const changes = await context.workspace.changes();
  return {
    repo_path: root,
    target_branch: context.targetBranch,
    changed_files: changes.map((change) => change.path),
    head_sha: shas.head,
    base_sha: shas.base,
    merge_base_sha: shas.mergeBase,
  };
}
