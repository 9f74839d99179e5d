import type { IncomingMessage, ServerResponse } from "node:http";
import { serveGit } from "../git-http.ts";
import { callerOf, requirePermission, requireRepository, requireToken } from "./credentials.ts";
import { GitHubRefusal } from "./errors.ts";
import type { Repository } from "./model.ts";
import { syncHead } from "./pull-branch.ts";
import type { GitHubState } from "./state.ts";

const gitPath = /^\/([^/]+)\/([^/]+?)\.git\/(info\/refs|git-upload-pack|git-receive-pack)$/;

export const isGit = (pathname: string) => gitPath.test(pathname);

/**
 * Serves clones and fetches (contents: read) and pushes (contents: write) for installation tokens; everyone can read public repositories.
 * Refuses in GitHub's words.
 */
export function answerGit(
  state: GitHubState,
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = new URL(request.url ?? "/", state.origin);
  const [, owner = "", name = "", service] = gitPath.exec(url.pathname) ?? [];
  const pushes = service === "git-receive-pack" || url.searchParams.get("service") === "git-receive-pack";
  let by: string | undefined;
  try {
    by = authorize(state, request.headers.authorization, { owner, name, pushes });
  } catch (error) {
    request.resume();
    if (!(error instanceof GitHubRefusal)) throw error;
    const headers = { "content-type": "text/plain", ...error.headers };
    response.writeHead(error.status, headers).end(`${error.message}\n`);
    return;
  }
  if (service === "git-receive-pack") response.on("finish", () => followPush(state, { owner, name, by }));
  serveGit(request, response, { root });
}

/** Updates the heads of a branch's pull requests after a push. */
function followPush(
  state: GitHubState,
  { owner, name, by = "ghost" }: { owner: string; name: string; by: string | undefined },
): void {
  const pushed = state.repository(owner, name);
  for (const pull of pullsFrom(state, pushed)) syncHead(state, pull, { by, kind: "push" });
}

const pullsFrom = (state: GitHubState, source: Repository | undefined) =>
  [...state.repositories.values()]
    .flatMap(({ pulls }) => [...pulls.values()])
    .filter((pull) => pull.headRepository === source && pull.state === "open");

/** The repository whose token may push here: the repository itself, or the base repository if the owner lets its maintainers push. */
function letIn(state: GitHubState, source: Repository | undefined): Repository | undefined {
  return pullsFrom(state, source).find(({ maintainersMayPush }) => maintainersMayPush)?.repository ?? source;
}

/** Returns the login of the App; undefined if the request needs no login. */
function authorize(
  state: GitHubState,
  authorization: string | undefined,
  asked: { owner: string; name: string; pushes: boolean },
): string | undefined {
  const repository = state.repository(asked.owner, asked.name);
  if (!authorization && !asked.pushes && repository && !repository.private) return undefined;
  const challenge = { "www-authenticate": 'Basic realm="GitHub"' };
  if (!authorization) throw new GitHubRefusal(401, "No anonymous write access.", undefined, challenge);
  try {
    const token = requireToken(callerOf(state, authorization));
    const target = asked.pushes ? letIn(state, repository) : repository;
    requireRepository(state, token, target?.owner.login ?? asked.owner, target?.name ?? asked.name);
    requirePermission(token, [["contents", asked.pushes ? "write" : "read"]]);
    return token.installation.app.bot.login;
  } catch (error) {
    if (!(error instanceof GitHubRefusal)) throw error;
    if (error.status === 401) {
      throw new GitHubRefusal(401, "Invalid username or token.", undefined, challenge);
    }
    if (error.status === 404) throw new GitHubRefusal(404, "Repository not found.");
    throw new GitHubRefusal(403, `Permission to ${asked.owner}/${asked.name}.git denied.`);
  }
}
