/** What GitHub's settings call the access that its API names in one word. */
const accesses: Record<string, string> = { read: "Read-only", write: "Read and write", admin: "Admin" };

/** What an endpoint of ours needs, for a GitHub that does not say it: older enterprise servers, some refusals. */
const needed: [path: RegExp, permission: string][] = [
  [/\/check-runs\b/, "checks=write"],
  [/\/contents\//, "contents=read"],
  [/\/(pulls|issues)\//, "pull_requests=write"],
];

/** Reading comes before writing: who is refused the first will need the second. */
const neededInTheEnd = new Set(["checks=read", "pull_requests=read"]);

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
  const permission = needed.find(([path]) => path.test(call))?.[1];
  return permission && settingOf(permission);
}

function settingOf(pair: string): string {
  const asked = pair.trim();
  const [name = "", access = ""] = (neededInTheEnd.has(asked) ? asked.replace("read", "write") : asked).split(
    "=",
  );
  const words = name.replaceAll("_", " ");
  return `"${words.charAt(0).toUpperCase()}${words.slice(1)}: ${accesses[access] ?? access}"`;
}
