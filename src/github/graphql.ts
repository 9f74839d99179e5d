import { z } from "zod";
import { AppError } from "../errors.ts";
import { unreadableAnswer } from "./errors.ts";

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
  if (!parsed.success) throw unreadableAnswer(name, z.prettifyError(parsed.error));
  return parsed.data;
}

/** How GitHub words a time-out or a fault of its own, for which it has no type. */
const outage = /^(something went wrong while executing|we couldn't respond to your request in time)/i;

function refusal(name: string, { type, message }: { type?: string | undefined; message: string }): AppError {
  if (type === "FORBIDDEN") return new AppError("github_forbidden", `${name}: ${message}`);
  if (type === "NOT_FOUND") return new AppError("github_not_found", `${name}: ${message}`);
  const isPassing = type === "RATE_LIMITED" || outage.test(message);
  return new AppError("github_failed", `${name}: ${message}`, { retryable: isPassing });
}
