import { callerOf, requireToken } from "../credentials.ts";
import { GitHubRefusal } from "../errors.ts";
import { type Exchange, jsonReply } from "../exchange.ts";
import type { RestReply } from "../rest.ts";
import type { GitHubState } from "../state.ts";
import { type Field, GraphqlSyntaxError, parseGraphql, type Value } from "./parse.ts";
import { GraphqlRefusal, type Resolver, rootOf } from "./schema.ts";

type Variables = Record<string, unknown>;

function given(value: Value, variables: Variables): unknown {
  if (value.kind === "variable") return variables[value.name] ?? null;
  if (value.kind === "list") return value.items.map((item) => given(item, variables));
  if (value.kind === "literal") return value.value;
  return Object.fromEntries(Object.entries(value.fields).map(([key, one]) => [key, given(one, variables)]));
}

/** Answers exactly the selected fields; an undefined field is an error, as on GitHub. */
async function select(
  type: Resolver,
  selection: Field[],
  variables: Variables,
): Promise<Record<string, unknown>> {
  const out: Record<string, unknown> = {};
  for (const field of selection) {
    if (field.name === "__typename") {
      out[field.key] = type.name;
      continue;
    }
    const resolve = type.fields[field.name];
    if (!resolve) {
      throw new GraphqlRefusal(
        "undefinedField",
        `Field '${field.name}' doesn't exist on type '${type.name}'`,
      );
    }
    const args = Object.fromEntries(
      Object.entries(field.args).map(([name, value]) => [name, given(value, variables)]),
    );
    out[field.key] = await shown(await resolve(args), field, variables);
  }
  return out;
}

async function shown(value: unknown, field: Field, variables: Variables): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((one) => shown(one, field, variables)));
  if (typeof value !== "object" || value === null) return value;
  if (field.selection.length === 0) {
    const { name } = value as Resolver;
    throw new GraphqlRefusal(
      "selectionMismatch",
      `Field must have selections (field '${field.name}' returns ${name})`,
    );
  }
  return select(value as Resolver, field.selection, variables);
}

/** Answers `POST /graphql`. Errors arrive with status 200, as on GitHub. */
export async function answerGraphql(state: GitHubState, exchange: Exchange): Promise<RestReply> {
  const { query, variables } = (exchange.body ?? {}) as { query?: string; variables?: Variables };
  const done = (status: number, body: unknown, problem?: string): RestReply => ({
    reply: jsonReply(status, body),
    operation: "graphql",
    violations: problem
      ? [{ kind: "refused", request: "POST /graphql", operation: "graphql", problems: [problem] }]
      : [],
  });
  try {
    const token = requireToken(callerOf(state, exchange.headers.authorization));
    const document = parseGraphql(query ?? "");
    const root = rootOf(state, token, document.operation);
    return done(200, { data: await select(root, document.selection, variables ?? {}) });
  } catch (error) {
    if (error instanceof GitHubRefusal) return done(error.status, { message: error.message });
    if (error instanceof GraphqlSyntaxError)
      return done(200, { errors: [{ message: error.message }] }, error.message);
    if (!(error instanceof GraphqlRefusal)) throw error;
    const refused = { data: null, errors: [{ type: error.type, message: error.message }] };
    return done(200, refused, error.isMistake ? error.message : undefined);
  }
}
