import { findCommit } from "../bare-repository.ts";
import { type Answer, created, type Endpoints, inRepository, ok, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { repositoryUrl } from "../json/repository.ts";
import { nodeId } from "../model.ts";

function refJson({ state, repository }: RepositoryCall, ref: string, sha: string) {
  const url = `${repositoryUrl(state, repository)}/git`;
  return {
    ref,
    node_id: nodeId("REF", repository.id),
    url: `${url}/${ref}`,
    object: { sha, type: "commit", url: `${url}/commits/${sha}` },
  };
}

async function get(call: RepositoryCall): Promise<Answer> {
  const ref = `refs/${call.path.ref}`;
  const sha = await findCommit(call.repository.gitDir, ref);
  if (!sha) throw notFound();
  return ok(refJson(call, ref, sha));
}

/** Only branches: the bot creates nothing else. */
async function create(call: RepositoryCall): Promise<Answer> {
  const { ref, sha } = call.body as { ref: string; sha: string };
  const { git, gitDir } = call.repository;
  if (!/^refs\/heads\/[\w.-]+(\/[\w.-]+)*$/.test(ref))
    throw new GitHubRefusal(422, "Reference name is not valid");
  if (!(await findCommit(gitDir, sha))) throw new GitHubRefusal(422, "Object does not exist");
  if (await findCommit(gitDir, ref)) throw new GitHubRefusal(422, "Reference already exists");
  git.git("update-ref", ref, sha);
  return created(refJson(call, ref, sha));
}

export const refs: Endpoints = {
  "git/get-ref": inRepository([["contents", "read"]], get),
  "git/create-ref": inRepository([["contents", "write"]], create),
};
