import { isDeepStrictEqual } from "node:util";
import { parseDocument } from "yaml";
import { parseRepoConfig } from "../../config/parse-config.ts";
import { isRuleEnforced } from "../../config/repo-config.ts";
import { severeOnly } from "../../figures/insights.ts";
import { publicPlain, publicText } from "../../publish/public-text.ts";
import type { Act, ActTask } from "../../queue/job.ts";
import { untrustedCode } from "../../reporters/safe-markdown.ts";
import { inertMessage } from "../../text/inert-text.ts";
import type { AskedContext } from "./command-context.ts";
import { type AddedRule, addRule, configChange, ofInstructions, proposeChange } from "./remember.ts";

type Demote = Extract<Act, { name: "demote" }>;

/**
 * The text of a configuration with a rule of an analyzer switched off, and nothing else changed; comments and layout stay. Null is a file
 * that does not exist yet.
 */
export function switchOff(text: string | null, rule: string): AddedRule {
  const before = parseRepoConfig(text ?? "");
  if (!before.ok)
    return { ok: false, reason: "the configuration is invalid; run `hunkwise config check` to see why" };
  if (Object.hasOwn(before.config.rules, rule))
    return { ok: false, reason: `the configuration already has a setting for the rule ${rule}` };
  const document = parseDocument(text ?? "", { logLevel: "silent" });
  document.setIn(["rules", rule], "off");
  const after = document.toString({ lineWidth: 0 });
  const parsed = parseRepoConfig(after);
  const wanted = { ...before.config, rules: { ...before.config.rules, [rule]: "off" } };
  return parsed.ok && isDeepStrictEqual(parsed.config, wanted)
    ? { ok: true, text: after }
    : { ok: false, reason: "the `rules` in the configuration must be a map" };
}

/**
 * Proposes a change of the configuration about findings that people dismiss again and again, in a pull request that a person merges or
 * closes. Resolves to what people read about it.
 */
export async function demote(
  context: AskedContext<ActTask>,
  { dimension, value, dismissed, findings }: Demote,
): Promise<string> {
  const { api, by, job } = context;
  const { baseRef } = await api.pull();
  const change = await configChange(
    context,
    baseRef,
    dimension === "source"
      ? {
          key: `rules.${value}`,
          isEnforced: (config) => [value, ...value.split("/")].some((name) => isRuleEnforced(config, name)),
          edit: (before) => switchOff(before, value),
        }
      : { ...ofInstructions, edit: (before) => addRule(before, severeOnly(value)) },
  );
  if ("refused" in change) return change.refused;
  const what =
    dimension === "source"
      ? `switches the rule ${untrustedCode(value)} off`
      : `asks for findings of the category ${untrustedCode(value)} only if they are severe`;
  const { says } = await proposeChange(context, change, {
    branch: `hunkwise/demote-${job.task.id}`,
    base: baseRef,
    title: publicPlain("Report less of what people dismiss"),
    body: publicText(
      `${inertMessage(untrustedCode(by))} asked for this on a page of Hunkwise. It ${inertMessage(what)}, because people dismissed ${dismissed} of ${findings} such findings in pull requests that were merged. Merge it if these were rarely worth reading; close it if they were.`,
    ),
  });
  return says;
}
