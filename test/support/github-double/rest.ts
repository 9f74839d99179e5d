import { createHash } from "node:crypto";
import { callerOf } from "./credentials.ts";
import type { Answer, Call, Endpoints } from "./endpoint.ts";
import { actions } from "./endpoints/actions.ts";
import { apps } from "./endpoints/apps.ts";
import { checkRuns } from "./endpoints/check-runs.ts";
import { commitStatuses } from "./endpoints/commit-statuses.ts";
import { issues } from "./endpoints/issues.ts";
import { pulls } from "./endpoints/pulls.ts";
import { repositories } from "./endpoints/repositories.ts";
import { reviewComments } from "./endpoints/review-comments.ts";
import { reviews } from "./endpoints/reviews.ts";
import { users } from "./endpoints/users.ts";
import { GitHubRefusal, NotSimulated } from "./errors.ts";
import { type Exchange, jsonReply, type Reply } from "./exchange.ts";
import { findOperation, type Operation } from "./openapi.ts";
import { paginate } from "./pagination.ts";
import type { GitHubState } from "./state.ts";

const endpoints: Endpoints = {
  ...actions,
  ...apps,
  ...checkRuns,
  ...commitStatuses,
  ...issues,
  ...pulls,
  ...repositories,
  ...reviewComments,
  ...reviews,
  ...users,
};

/** A request that GitHub would refuse, or that the description does not contain. Tests assert that there is none. */
export interface Violation {
  /** The broken rules: GitHub's description, GitHub's own rules (422, 400), or the limits of the double. */
  kind: "description" | "refused" | "not-simulated";
  request: string;
  operation: string | undefined;
  problems: string[];
}

export interface RestReply {
  reply: Reply;
  operation: string | undefined;
  violations: Violation[];
}

/** Answers one REST request. Throws if the double itself is wrong: its answer violates GitHub's description. */
export async function answerRest(state: GitHubState, exchange: Exchange): Promise<RestReply> {
  const operation = findOperation(exchange.method, exchange.path);
  const violations: Violation[] = [];
  const note = (kind: Violation["kind"], problems: string[]) => {
    const request = `${exchange.method} ${exchange.path}`;
    if (problems.length > 0) violations.push({ kind, request, operation: operation?.id, problems });
  };
  try {
    const reply = asKnown(await answerKnown(state, exchange, operation, note), exchange);
    return { reply, operation: operation?.id, violations };
  } catch (error) {
    const reply = refusalReply(error, operation);
    if (error instanceof NotSimulated) note("not-simulated", [error.message]);
    else if (isMistake(error)) {
      const reasons = (error.errors ?? []).map((one) =>
        typeof one === "string" ? one : JSON.stringify(one),
      );
      // Violations of the description are recorded where they are found.
      if (violations.length === 0) note("refused", [error.message, ...reasons]);
    }
    if (operation && error instanceof GitHubRefusal) checkAnswer(operation, reply);
    return { reply, operation: operation?.id, violations };
  }
}

const isMistake = (error: unknown): error is GitHubRefusal =>
  error instanceof GitHubRefusal && [400, 422].includes(error.status) && !error.isNoMistake;

type Note = (kind: Violation["kind"], problems: string[]) => void;

async function answerKnown(
  state: GitHubState,
  exchange: Exchange,
  operation: Operation | undefined,
  note: Note,
) {
  const endpoint = operation && endpoints[operation.id];
  const caller = callerOf(state, exchange.headers.authorization);
  if (!operation || !endpoint) throw new NotSimulated(`${exchange.method} ${exchange.path}`);
  checkMediaType(operation, exchange.headers.accept ?? "");
  const query: Call["query"] = Object.fromEntries(exchange.url.searchParams);
  note("description", operation.checkQuery(query));
  const handle = endpoint({ state, path: operation.path, query, body: exchange.body }, caller);
  if (exchange.brokenJson) throw new GitHubRefusal(400, "Problems parsing JSON");
  const problems = operation.checkBody(exchange.body);
  note("description", problems);
  if (problems.length > 0) throw new GitHubRefusal(422, `Invalid request.\n\n${problems.join("\n")}`);
  return replyOf(await handle(), exchange, operation);
}

/** Refuses media types that the double does not produce. */
function checkMediaType(operation: Operation, accept: string): void {
  const kind = /application\/vnd\.github\.(?:[\w-]+\.)?(diff|patch|html|text|full|sha|object|raw)\b/.exec(
    accept,
  )?.[1];
  if (kind !== undefined) throw new NotSimulated(`the media type ${kind} of ${operation.id}`);
}

async function replyOf(answer: Answer, exchange: Exchange, operation: Operation): Promise<Reply> {
  if (!("list" in answer)) {
    const reply = jsonReply(answer.status, answer.body, answer.headers);
    checkAnswer(operation, reply);
    return reply;
  }
  const page = paginate(answer.list, exchange.url);
  const items = answer.show ? await Promise.all(page.items.map(answer.show)) : page.items;
  const body = answer.wrap ? answer.wrap(items, page.total) : items;
  const reply = jsonReply(200, body, page.link ? { link: page.link } : {});
  checkAnswer(operation, reply);
  return reply;
}

function refusalReply(error: unknown, operation: Operation | undefined): Reply {
  if (error instanceof NotSimulated) return jsonReply(501, { message: error.message });
  if (!(error instanceof GitHubRefusal)) throw error;
  const { status, message, errors, headers } = error;
  const documentation = operation?.docs ?? "https://docs.github.com/rest";
  const body = {
    message,
    ...(errors ? { errors } : {}),
    documentation_url: documentation,
    status: String(status),
  };
  return jsonReply(status, body, headers);
}

function checkAnswer(operation: Operation, reply: Reply): void {
  const body: unknown = reply.body.length > 0 ? JSON.parse(String(reply.body)) : undefined;
  const problems = operation.checkResponse(reply.status, body);
  if (problems.length === 0) return;
  throw new Error(
    `The double's answer ${reply.status} to ${operation.id} is not GitHub's:\n${problems.join("\n")}`,
  );
}

/**
 * Adds an ETag to GET answers, and answers 304 if a request sends it back. An ETag is valid only for the token that got it, as on GitHub
 * (https://github.com/eclipse-csi/otterdog/issues/201): the next hour's token gets the whole answer once more.
 */
function asKnown(reply: Reply, { method, headers }: Exchange): Reply {
  if (method !== "GET" || reply.status !== 200) return reply;
  const hash = createHash("sha256")
    .update(`${headers.authorization ?? ""}\n`)
    .update(reply.body);
  const etag = `W/"${hash.digest("hex")}"`;
  const marked = { ...reply.headers, etag };
  if (headers["if-none-match"] !== etag) return { ...reply, headers: marked };
  return { status: 304, headers: { etag }, body: "" };
}
