import { z } from "zod";
import { AppError } from "../errors.ts";
import { firstFaults, oneLine, refusalError, unreadableAnswer } from "./errors.ts";
import type { Headers } from "./rate-limit.ts";

/** Answers with status 200 whether it went well or not: https://docs.github.com/graphql/guides/using-the-graphql-api-for-error-handling */
const Answer = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({ type: z.string().optional(), message: z.string() })).optional(),
});

/** Where GraphQL is spoken: beside the REST API, which on an enterprise server has a path of its own. */
export function graphqlUrl(baseUrl: string): string {
  return baseUrl.endsWith("/api/v3") ? baseUrl.replace(/v3$/, "graphql") : `${baseUrl}/graphql`;
}

/** The data of an answer, of a known shape. Rejects with an AppError in GitHub's words. */
export function graphqlData<Data>(name: string, answer: unknown, shape: z.ZodType<Data>): Data {
  const { data, errors = [] } = Answer.safeParse(answer).data ?? {};
  const [error] = errors;
  if (error) throw refusal(name, error);
  const parsed = shape.safeParse(data);
  if (!parsed.success) throw unreadableAnswer(name, firstFaults(parsed.error));
  return parsed.data;
}

/**
 * GitHub tells of a limit in an answer with status 200 ("Rate limits and query limits for the GraphQL API"): throws what it
 * would be where it is told by the status.
 */
export function refuseLimited({ data, headers }: { data: unknown; headers: Headers }): void {
  const { errors = [] } = Answer.safeParse(data).data ?? {};
  const limit = errors.find(({ type, message }) => limitType.test(type ?? "") || limitWords.test(message));
  if (limit) throw refusalError({ status: 429, headers, message: limit.message });
}

const limitType = /^RATE_LIMIT(ED)?$/;
const limitWords = /secondary rate limit/i;

/** How GitHub words a time-out or a fault of its own, for which it has no type. */
const outage = /^(something went wrong while executing|we couldn't respond to your request in time)/i;

function refusal(name: string, error: { type?: string | undefined; message: string }): AppError {
  const { type } = error;
  const message = oneLine(error.message);
  if (type === "FORBIDDEN") return new AppError("github_forbidden", `${name}: ${message}`);
  if (type === "NOT_FOUND") return new AppError("github_not_found", `${name}: ${message}`);
  return new AppError("github_failed", `${name}: ${message}`, { retryable: outage.test(message) });
}
