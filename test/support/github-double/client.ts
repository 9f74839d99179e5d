import type { GitHubDouble } from "../github-double.ts";
import type { Installation, Token } from "./model.ts";

export interface ApiAnswer {
  status: number;
  headers: Headers;
  // Tests read answers of many shapes; each expectation states what it expects.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any;
}

/** A minimal client of the double, for tests of the double itself: no retries, no types, no code of the bot. */
export function clientOf(github: GitHubDouble, credentials: string | Token | Installation) {
  const token = typeof credentials === "string" ? credentials : valueOfToken(github, credentials);
  return async (
    endpoint: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer> => {
    const [method = "", path = ""] = endpoint.split(" ");
    const response = await fetch(`${github.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") && text !== "" && !headers.accept;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
}

const valueOfToken = (github: GitHubDouble, credentials: Token | Installation) =>
  "value" in credentials ? credentials.value : github.state.issueToken(credentials).value;
