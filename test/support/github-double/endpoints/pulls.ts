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
import { NotSimulated, validationFailed } from "../errors.ts";
import { pullOf } from "../find.ts";
import { fullPullJson, pullJson } from "../json/pull.ts";
import type { Pull } from "../model.ts";
import { addPull } from "../pull-branch.ts";

function list({ state, repository, query }: RepositoryCall): Answer {
  const asked = query.state ?? "open";
  const matches = (pull: Pull) =>
    (asked === "all" || pull.state === asked) &&
    (query.base === undefined || pull.baseRef === query.base) &&
    (query.head === undefined ||
      `${(pull.headRepository ?? repository).owner.login}:${pull.headRef}` === query.head);
  const pulls = [...repository.pulls.values()].filter(matches);
  // The newest come first unless another sort order is requested.
  if (query.sort === "updated") pulls.sort((a, b) => a.updatedAt.getTime() - b.updatedAt.getTime());
  if (query.direction === "desc" || (query.direction === undefined && query.sort === undefined))
    pulls.reverse();
  return listed(pulls, (pull) => pullJson(state, pull));
}

interface WantedPull {
  title?: string;
  body?: string;
  head: string;
  base: string;
  draft?: boolean;
}

const resource = "PullRequest";

/** Opens a pull request as the App, for a branch of the same repository. */
async function create(call: RepositoryCall): Promise<Answer> {
  const { state, repository, token } = call;
  const { title, body, head, base, draft } = call.body as WantedPull;
  if (head.includes(":")) throw new NotSimulated("a pull request from a fork by an App");
  if (!title) throw validationFailed({ resource, code: "missing_field", field: "title" });
  const [of, onto] = await Promise.all(
    [head, base].map((branch) => findCommit(repository.gitDir, `refs/heads/${branch}`)),
  );
  if (!of) throw validationFailed({ resource, code: "invalid", field: "head" });
  if (!onto) throw validationFailed({ resource, code: "invalid", field: "base" });
  const refuse = (message: string) => validationFailed({ resource, code: "custom", message });
  if (of === onto) throw refuse(`No commits between ${base} and ${head}`);
  const label = `${repository.owner.login}:${head}`;
  const isThere = [...repository.pulls.values()].some(
    (pull) => pull.state === "open" && pull.headRef === head && pull.baseRef === base,
  );
  if (isThere) throw refuse(`A pull request already exists for ${label}.`);
  const author = token.installation.app.bot.login;
  const made = addPull(state, repository, repository, {
    ...{ title, author, branch: head, base, body: body ?? null, draft: draft ?? false },
  });
  return created(await fullPullJson(state, made));
}

export const pulls: Endpoints = {
  "pulls/create": inRepository([["pull_requests", "write"]], create),
  "pulls/list": inRepository([["pull_requests", "read"]], list),
  "pulls/get": inRepository([["pull_requests", "read"]], async (call) =>
    ok(await fullPullJson(call.state, pullOf(call))),
  ),
};
