import { pullDiff } from "../current-line.ts";
import { type Answer, type Endpoints, inRepository, ok, type RepositoryCall } from "../endpoint.ts";
import { pullOf } from "../find.ts";
import { fullPullJson, pullJson } from "../json/pull.ts";
import type { Pull } from "../model.ts";
import { headOf } from "../model.ts";
import { fileJson } from "./repositories.ts";

/** GitHub lists no more files than this, whatever page is asked for. */
const mostFiles = 3000;

function list({ state, repository, query }: RepositoryCall): Answer {
  const asked = query.state ?? "open";
  const matches = (pull: Pull) =>
    (asked === "all" || pull.state === asked) &&
    (query.base === undefined || pull.baseRef === query.base) &&
    (query.head === undefined ||
      `${(pull.headRepository ?? repository).owner.login}:${pull.headRef}` === query.head);
  const pulls = [...repository.pulls.values()].filter(matches);
  if (query.direction !== "asc") pulls.reverse();
  return { status: 200, list: pulls.map((pull) => pullJson(state, pull)) };
}

async function files(call: RepositoryCall): Promise<Answer> {
  const pull = pullOf(call);
  const changed = await pullDiff(pull);
  return { status: 200, list: changed.slice(0, mostFiles).map((file) => fileJson(call, headOf(pull), file)) };
}

export const pulls: Endpoints = {
  "pulls/list": inRepository([["pull_requests", "read"]], list),
  "pulls/get": inRepository([["pull_requests", "read"]], async (call) =>
    ok(await fullPullJson(call.state, pullOf(call))),
  ),
  "pulls/list-files": inRepository([["pull_requests", "read"]], files),
};
