import { findCommit } from "../bare-repository.ts";
import {
  type Answer,
  created,
  type Endpoints,
  inRepository,
  listed,
  ok,
  type RepositoryCall,
} from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { accountJson } from "../json/account.ts";
import { repositoryUrl } from "../json/repository.ts";
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

function refJson({ state, repository }: RepositoryCall, ref: string, sha: string) {
  const url = `${repositoryUrl(state, repository)}/git`;
  return {
    ref,
    node_id: nodeId("REF", repository.id),
    url: `${url}/${ref}`,
    object: { sha, type: "commit", url: `${url}/commits/${sha}` },
  };
}

async function getRef(call: RepositoryCall): Promise<Answer> {
  const ref = `refs/${call.path.ref}`;
  const sha = await findCommit(call.repository.gitDir, ref);
  if (!sha) throw notFound();
  return ok(refJson(call, ref, sha));
}

/** Only branches: the bot creates nothing else. */
async function createRef(call: RepositoryCall): Promise<Answer> {
  const { ref, sha } = call.body as { ref: string; sha: string };
  const { git, gitDir } = call.repository;
  if (!/^refs\/heads\/[\w.-]+(\/[\w.-]+)*$/.test(ref))
    throw new GitHubRefusal(422, "Reference name is not valid");
  if (!(await findCommit(gitDir, sha))) throw new GitHubRefusal(422, "Object does not exist");
  if (await findCommit(gitDir, ref)) throw new GitHubRefusal(422, "Reference already exists");
  git.git("update-ref", ref, sha);
  return created(refJson(call, ref, sha));
}

export const repositories: Endpoints = {
  "repos/get-collaborator-permission-level": inRepository([["metadata", "read"]], permission),
  "repos/get-content": inRepository([["contents", "read"]], contents, { ofPublicOnes: true }),
  "repos/create-or-update-file-contents": inRepository([["contents", "write"]], writeContents),
  "repos/list-activities": inRepository([["contents", "read"]], activity),
  "git/get-ref": inRepository([["contents", "read"]], getRef),
  "git/create-ref": inRepository([["contents", "write"]], createRef),
};
