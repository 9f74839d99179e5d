import { rootPaths } from "../config/repo-config.ts";
import { learnOwn, type OwnIds } from "./own-ids.ts";
import type { AppIdentity } from "./own-text.ts";
import {
  type Body,
  below,
  type GitHubCall,
  isAmong,
  isPlain,
  onlyIf,
  type Place,
  type Reach,
  type Rule,
} from "./reach.ts";
import { resolvingMutation, threadsQuery } from "./thread-documents.ts";

/*
 * What each client may send to GitHub. None approves, merges, labels, closes, dispatches, or writes to another repository or
 * pull request, whatever it is told: such a request is not sent. Tokens say nearly the same, and GitHub asks those; but a
 * token that may comment on one pull request may do so on all of its repository, and merge them.
 */

/** What a job may do that knows no pull request: read its repository, react, and write check runs. */
export function repositoryReach(place: Place, app: AppIdentity, own: OwnIds): Reach {
  return jobReach({ place, app, own, pull: 0, rules: repositoryRules(own) });
}

/** What a job may do on its pull request. */
export function pullReach(place: Place, pull: number, app: AppIdentity, own: OwnIds): Reach {
  return jobReach({ place, app, own, pull, rules: [...repositoryRules(own), ...pullRules(pull, own)] });
}

interface JobReach {
  place: Place;
  app: AppIdentity;
  own: OwnIds;
  /** 0 for none. */
  pull: number;
  rules: readonly Rule[];
}

function jobReach({ place, app, own, pull, rules }: JobReach): Reach {
  const isAllowed = (call: GitHubCall) => {
    if (call.path === "/graphql") return asksForThreads(call, place, pull);
    const path = below(place, call.path);
    return path !== undefined && (call.method === "GET" || isAmong(rules, call, path));
  };
  return {
    ...onlyIf(isAllowed),
    learn(call, data) {
      const path = call.path === "/graphql" ? call.path : below(place, call.path);
      if (path !== undefined) learnOwn(own, app, pull, path, data);
    },
  };
}

function asksForThreads(call: GitHubCall, { owner, repo }: Place, pull: number): boolean {
  return isGraphql(
    call,
    threadsQuery,
    (given) => given.owner === owner && given.repo === repo && given.pull === pull,
  );
}

function isGraphql(
  { method, query, body }: GitHubCall,
  document: string,
  fits: (variables: Body) => boolean,
) {
  if (method !== "POST" || query !== "" || typeof body !== "object" || body === null) return false;
  const { query: asked, variables, ...more } = body as Body;
  return asked === document && Object.keys(more).length === 0 && fits((variables ?? {}) as Body);
}

const reactions = new Set<unknown>(["eyes", "+1", "confused"]);
const checkRunKeys = ["status", "conclusion", "output"];

/** The comment that is reacted to may be anybody's, and stand anywhere in the repository. */
function repositoryRules({ checkRuns }: OwnIds): Rule[] {
  const isReaction = ({ content }: Body) => reactions.has(content);
  return [
    { to: "POST issues/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST pulls/comments/{id}/reactions", keys: ["content"], where: isReaction },
    { to: "POST check-runs", keys: ["name", "head_sha", "external_id", ...checkRunKeys] },
    { to: "PATCH check-runs/{id}", keys: checkRunKeys, where: (_, id) => checkRuns.has(id) },
  ];
}

/** GitHub has the comments of all pull requests at one address: which of them are ours here, it has said before. */
function pullRules(pull: number, { reviews, lineComments, comments }: OwnIds): Rule[] {
  const isComment = ({ event }: Body) => event === undefined || event === "COMMENT";
  return [
    {
      to: `POST pulls/${pull}/reviews`,
      keys: ["commit_id", "event", "body", "comments"],
      where: isComment,
    },
    { to: `PUT pulls/${pull}/reviews/{id}`, keys: ["body"], where: (_, id) => reviews.has(id) },
    { to: `DELETE pulls/${pull}/reviews/{id}`, keys: [], where: (_, id) => reviews.has(id) },
    { to: `POST pulls/${pull}/comments`, keys: ["commit_id", "path", "body", "subject_type"] },
    { to: `POST pulls/${pull}/comments/{id}/replies`, keys: ["body"] },
    { to: "DELETE pulls/comments/{id}", keys: [], where: (_, id) => lineComments.has(id) },
    { to: `POST issues/${pull}/comments`, keys: ["body"] },
    { to: "PATCH issues/comments/{id}", keys: ["body"], where: (_, id) => comments.has(id) },
    { to: "DELETE issues/comments/{id}", keys: [], where: (_, id) => comments.has(id) },
  ];
}

/** Resolving threads that a job has seen to be ours, and nothing else. */
export function resolvingReach({ threads }: OwnIds): Reach {
  return onlyIf(
    (call) =>
      call.path === "/graphql" && isGraphql(call, resolvingMutation, ({ id }) => threads.has(String(id))),
  );
}

/** As `/remember` names its branches. */
const ownBranch = /^hunkwise\/remember-[\w-]+$/;
const heads = "refs/heads/";
const isOwnBranch = (name: unknown) => typeof name === "string" && ownBranch.test(name);

/** Proposing a change of the configuration on a branch of our own; that, and what has to be read for it. */
export function proposingReach(place: Place): Reach {
  const rules: Rule[] = [
    {
      to: "POST git/refs",
      keys: ["ref", "sha"],
      where: ({ ref }) =>
        typeof ref === "string" && ref.startsWith(heads) && isOwnBranch(ref.slice(heads.length)),
    },
    ...rootPaths.map((path) => ({
      to: `PUT contents/${path}`,
      keys: ["branch", "message", "content", "sha"],
      where: ({ branch }: Body) => isOwnBranch(branch),
    })),
    { to: "POST pulls", keys: ["title", "body", "base", "head"], where: ({ head }) => isOwnBranch(head) },
  ];
  const reads = /^(pulls|git\/ref\/.+|contents\/.+)$/;
  return onlyIf((call) => {
    const path = below(place, call.path);
    if (path === undefined) return false;
    return call.method === "GET" ? reads.test(path) : isAmong(rules, call, path);
  });
}

/** Reading files of a repository. */
export function filesReach(place: Place): Reach {
  return onlyIf(
    (call) => call.method === "GET" && (below(place, call.path)?.startsWith("contents/") ?? false),
  );
}

/** What the App asks about itself. */
export const appReach: Reach = onlyIf(
  ({ method, path }) => method === "GET" && /^\/app\/(installations|hook\/deliveries)(\/\d+)?$/.test(path),
);

/** What an installation looks through for what was missed: it changes nothing. */
export const lookingReach: Reach = onlyIf(
  ({ method, path }) =>
    method === "GET" &&
    isPlain(path) &&
    (path === "/installation/repositories" ||
      /^\/(repos\/[\w.-]+\/[\w.-]+|repositories\/\d+)\/(pulls|issues|commits)(\/|$)/.test(path)),
);

/** Becoming somebody: the App's name, its installations' tokens and what they may, the credentials of a new App. */
export const credentialsReach: Reach = onlyIf(({ method, path, query }) => {
  const asked = `${method} ${path}`;
  return (
    query === "" &&
    (asked === "GET /app" ||
      /^GET \/app\/installations\/\d+$/.test(asked) ||
      /^POST \/app\/installations\/\d+\/access_tokens$/.test(asked) ||
      /^POST \/app-manifests\/[\w-]+\/conversions$/.test(asked))
  );
});

/** Ending the token that is sent. */
export const endingReach: Reach = onlyIf(
  ({ method, path, query }) => method === "DELETE" && path === "/installation/token" && query === "",
);
