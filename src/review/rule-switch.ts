import type { RepoConfig } from "../config/repo-config.ts";
import { createPathMatcher } from "../diff/paths.ts";
import type { Finding } from "../finding.ts";

/**
 * Whether the configuration switches off the rule of a finding, everywhere or in the finding's file. A key of `rules` names a rule
 * ("secrets/github", "ast-grep/py-eval"), a rule without its analyzer ("py-eval"), or a whole analyzer ("focused-tests").
 */
export function createRuleSwitch({ rules }: Pick<RepoConfig, "rules">): (finding: Finding) => boolean {
  const off = new Map(
    Object.entries(rules).map(([id, value]) => [
      id,
      value === "off" ? () => true : matching(createPathMatcher(value.off)),
    ]),
  );
  if (off.size === 0) return () => false;
  return ({ source, path }) => {
    const [analyzer = "", ...rest] = source.split("/");
    return [source, rest.join("/"), analyzer].some((id) => off.get(id)?.(path) === true);
  };
}

const matching = (match: ReturnType<typeof createPathMatcher>) => (path: string) => match(path).matched;
