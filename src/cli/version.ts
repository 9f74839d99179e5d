import { readFileSync } from "node:fs";

/** The version in package.json, which lies two folders up in development and when built. */
export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return String(JSON.parse(text).version);
}
