import { parse } from "jsonc-parser";

/** The name under which other packages know this one; null where the manifest has none. */
export function packageOf(kind: "package.json" | "go.mod", text: string): string | null {
  if (kind === "go.mod") return /^module\s+"?([^\s"]{1,300})/m.exec(text)?.[1] ?? null;
  const name: unknown = (parse(text) as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" && name.length <= 300 ? name : null;
}
