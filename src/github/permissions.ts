/** What GitHub's settings call the access that its API names in one word. */
const accesses: Record<string, string> = { read: "Read-only", write: "Read and write", admin: "Admin" };

/** What an endpoint of ours needs, for a GitHub that does not say it: older enterprise servers, some refusals. */
const needed: [path: RegExp, permission: string][] = [
  [/\/check-runs\b/, "checks"],
  [/\/contents\//, "contents"],
  [/\/(pulls|issues)\//, "pull_requests"],
];

/**
 * The permission that a refused call needs, as the settings of a GitHub App name it: `"Pull requests: Read and write"`, with
 * "and" and "or" between several. `header` is `x-accepted-github-permissions`, in which a comma joins what is needed
 * together and a semicolon separates what is enough. Undefined when nobody knows.
 *
 * @param call method and path, such as `POST /repos/o/r/issues/1/comments`
 */
export function permissionFor(call: string, header: string | undefined): string | undefined {
  // A header from outside: only what permissions look like is repeated.
  if (header !== undefined && /^\w+=\w+(\s*[,;]\s*\w+=\w+)*$/.test(header) && header.length <= 200) {
    return header
      .split(";")
      .map((set) => set.split(",").map(settingOf).join(" and "))
      .join(" or ");
  }
  const [method = "", path = ""] = call.split(" ");
  const permission = needed.find(([pattern]) => pattern.test(path))?.[1];
  return permission && settingOf(`${permission}=${method === "GET" ? "read" : "write"}`);
}

function settingOf(pair: string): string {
  const [name = "", access = ""] = pair.trim().split("=");
  const words = name.replaceAll("_", " ");
  return `"${words.charAt(0).toUpperCase()}${words.slice(1)}: ${accesses[access] ?? access}"`;
}
