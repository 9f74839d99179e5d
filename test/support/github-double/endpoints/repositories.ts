import { findCommit, git } from "../bare-repository.ts";
import { type DiffedFile, diffFiles } from "../commentable.ts";
import { type Answer, type Endpoints, inRepository, listed, ok, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal } from "../errors.ts";
import { accountJson } from "../json/account.ts";
import { fullRepositoryJson, repositoryPage, repositoryUrl } from "../json/repository.ts";
import type { Activity, Role } from "../model.ts";
import { nodeId, timestamp } from "../model.ts";
import { contents, writeContents } from "./contents.ts";

/** The old four-level permission of each role. */
const permissionOfRole: Record<Role, string> = {
  admin: "admin",
  maintain: "write",
  write: "write",
  triage: "read",
  read: "read",
};

function permission({ state, path, repository }: RepositoryCall): Answer {
  const account = state.accounts.get((path.username ?? "").toLowerCase());
  if (account?.type !== "User") throw new GitHubRefusal(404, `${path.username} is not a user`);
  const role =
    repository.collaborators.get(account.login.toLowerCase()) ?? (repository.private ? null : "read");
  const permissions = {
    admin: role === "admin",
    maintain: role === "admin" || role === "maintain",
    push: role !== null && permissionOfRole[role] !== "read",
    triage: role !== null && role !== "read",
    pull: role !== null,
  };
  return ok({
    permission: role ? permissionOfRole[role] : "none",
    role_name: role ?? "none",
    user: { ...accountJson(state, account), permissions, role_name: role ?? "none" },
  });
}

export function fileJson(call: RepositoryCall, commit: string, file: DiffedFile) {
  const rows = file.hunks.flatMap((hunk) => hunk.rows);
  const additions = rows.filter((row) => row.LEFT === null).length;
  const deletions = rows.filter((row) => row.RIGHT === null).length;
  const encoded = file.path.split("/").map(encodeURIComponent).join("/");
  const page = repositoryPage(call.state, call.repository);
  return {
    sha: file.oid,
    filename: file.path,
    status: file.status,
    additions,
    deletions,
    changes: additions + deletions,
    blob_url: `${page}/blob/${commit}/${encoded}`,
    raw_url: `${page}/raw/${commit}/${encoded}`,
    contents_url: `${repositoryUrl(call.state, call.repository)}/contents/${encoded}?ref=${commit}`,
    ...(file.patch === undefined ? {} : { patch: file.patch }),
    ...(file.previousPath === null ? {} : { previous_filename: file.previousPath }),
  };
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Reads a commit from git. */
async function readCommit(gitDir: string, sha: string) {
  const format = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B";
  const shown = (await git(gitDir, "show", "--no-patch", `--format=${format}`, sha)).split("\0");
  const [tree, parents = "", name, email, date, committer, committerEmail, committed, message = ""] = shown;
  return {
    tree,
    parents: parents.split(" ").filter(Boolean),
    author: { name, email, date },
    committer: { name: committer, email: committerEmail, date: committed },
    message: message.replace(/\n+$/, ""),
  };
}

const unsigned = { verified: false, reason: "unsigned", signature: null, payload: null, verified_at: null };

async function commit(call: RepositoryCall): Promise<Answer> {
  const { state, repository, path } = call;
  const sha = await findCommit(repository.gitDir, path.ref ?? "");
  if (!sha) throw new GitHubRefusal(422, `No commit found for SHA: ${path.ref}`);
  const { tree, parents, author, committer, message } = await readCommit(repository.gitDir, sha);
  const [url, page] = [repositoryUrl(state, repository), repositoryPage(state, repository)];
  const changed = await diffFiles(repository.gitDir, parents[0] ?? emptyTree, sha);
  const files = changed.map((file) => fileJson(call, sha, file));
  const sum = (field: "additions" | "deletions" | "changes") =>
    files.reduce((all, file) => all + file[field], 0);
  return ok({
    sha,
    node_id: nodeId("C", Number.parseInt(sha.slice(0, 8), 16)),
    commit: {
      author,
      committer,
      message,
      tree: { sha: tree, url: `${url}/git/trees/${tree}` },
      url: `${url}/git/commits/${sha}`,
      comment_count: 0,
      verification: unsigned,
    },
    url: `${url}/commits/${sha}`,
    html_url: `${page}/commit/${sha}`,
    comments_url: `${url}/commits/${sha}/comments`,
    author: null,
    committer: null,
    parents: parents.map((one) => ({
      sha: one,
      url: `${url}/commits/${one}`,
      html_url: `${page}/commit/${one}`,
    })),
    stats: { additions: sum("additions"), deletions: sum("deletions"), total: sum("changes") },
    files,
  });
}

/** Newest first, in cursor pages of 100; here there is never more than one page. */
function activity({ state, query, repository }: RepositoryCall): Answer {
  const { ref } = query;
  const isWanted = (one: Activity) => ref === undefined || one.ref === `refs/heads/${shortRef(ref)}`;
  return listed(repository.activities.filter(isWanted).toReversed(), (one) => ({
    ...{ id: one.id, node_id: nodeId("PSH", one.id), before: one.before, after: one.after, ref: one.ref },
    ...{ timestamp: timestamp(one.at), activity_type: one.kind, actor: accountJson(state, one.actor) },
  }));
}

const shortRef = (ref: string | number) => String(ref).replace(/^refs\/heads\//, "");

export const repositories: Endpoints = {
  "repos/get": inRepository([["metadata", "read"]], ({ state, repository }) =>
    ok(fullRepositoryJson(state, repository)),
  ),
  "repos/get-collaborator-permission-level": inRepository([["metadata", "read"]], permission),
  "repos/get-content": inRepository([["contents", "read"]], contents, { ofPublicOnes: true }),
  "repos/create-or-update-file-contents": inRepository([["contents", "write"]], writeContents),
  "repos/list-activities": inRepository([["contents", "read"]], activity),
  "repos/get-commit": inRepository([["contents", "read"]], commit),
};
