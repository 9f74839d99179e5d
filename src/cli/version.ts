import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The version in package.json, which lies two folders up in development and when built. */
export function programVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return String(JSON.parse(text).version);
}
