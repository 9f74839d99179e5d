import { isDeepStrictEqual } from "node:util";
import { Document, isCollection, isNode } from "yaml";
import { originOf, valueAt } from "../config/join-policy.ts";
import type { LoadedRepoConfig } from "../config/load-config.ts";
import { type EffectiveConfig, rootPaths, settingKeys } from "../config/repo-config.ts";
import { plainLine } from "./terminal-style.ts";

const [usualFile] = rootPaths;

/** Which files a configuration comes from, in one line. @param revision where they were read */
export function configHeadline({ config, path, inherited }: LoadedRepoConfig, revision: string): string {
  const own = path === null || inherited ? `no ${usualFile} at ${revision}` : `${path} at ${revision}`;
  if (config.policy !== undefined) return `${own}, joined with the organization's file, which has a policy`;
  if (inherited) return `${own}: the organization's file applies`;
  return path === null ? `defaults, because there is ${own}` : own;
}

/** YAML with the origin of each value in a comment. */
export function annotatedConfig(
  { organization_rules: _, ...config }: EffectiveConfig,
  { config: root, path, given }: LoadedRepoConfig,
): string {
  const document = new Document(config);
  const rules = Object.keys(config.rules).map((name) => ["rules", name]);
  for (const names of [...settingKeys.map((key) => key.split(".")), ...rules]) {
    const node = document.getIn(names, true);
    const key = names.join(".");
    if (!isNode(node) || (key === "rules" && rules.length > 0)) continue;
    // Each rule has its own origin; an enforced one can leave nothing of what a file says.
    const origin =
      key === "rules" ? "default" : originOf(key, given, { policy: root.policy, path: path ?? usualFile });
    const [before, now] = [root, config].map((one) => valueAt(one, names));
    const origins = isDeepStrictEqual(before, now) ? [origin] : [origin, "files of folders"];
    const text = ` ${plainLine(origins.filter((one) => one !== "default" || origins.length === 1).join(" and "))}`;
    if (isCollection(node) && node.items.length > 0) node.commentBefore = text;
    else node.comment = text;
  }
  // The package puts an empty list with a comment on a line of its own.
  return document.toString({ lineWidth: 0 }).replaceAll(/:\n *(\[\]|\{\})\n *(#.*)/g, ": $1 $2");
}
