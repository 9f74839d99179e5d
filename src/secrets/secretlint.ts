/** A credential that secretlint found. */
export interface LintMatch {
  /** Name of the rule without its package: "github", "aws". */
  rule: string;
  /** UTF-16 units; the end is exclusive. */
  start: number;
  end: number;
}

/**
 * Ignored parts of secretlint: a comment in a change must not be able to turn the search off; an AWS account number and the name of a key
 * are not secrets; and the secret of an AWS key has its own pattern here.
 */
const ignoredRules = ["filter-comments"];
const ignoredMessages = ["AWSAccountID", "AWSAccessKeyID", "AWSSecretAccessKey"];

/**
 * The 40 characters of an AWS secret access key. secretlint's pattern requires a word boundary after them and so misses the keys that end
 * with "/" or "+", one in 32; its range also differs from that of the key.
 */
const awsSecretKey =
  /secret[-_]?access[-_]?key["']?\s*(?::=|=>|[:=])\s*["']?[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])/gi;
/** The key of AWS's own documentation. */
const awsExample = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/** A match ends with the key. */
function awsSecretKeysIn(content: string): LintMatch[] {
  return [...content.matchAll(awsSecretKey)]
    .filter(([found]) => !found.endsWith(awsExample))
    .map(({ 0: found, index }) => {
      const end = index + found.length;
      return { rule: "aws", start: end - awsExample.length, end };
    });
}

const placeholderPassword =
  /^(?:x+|\*+|\.+|pass(?:w(?:or)?d)?|pwd|pw|secret|changeme|test|admin|root|user(?:name)?|example|postgres|mysql|mongo|guest|tiger|token|(?=\w+$)\w*(?:your|placeholder).*|[<{[$%:].*)$/i;
const localHost =
  /^(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1\]|[\w-]+|.*\.(?:local|localhost|test|internal|invalid)|(?:.*\.)?(?:example|host|domain|server)\.\w+)$/i;

/** Loaded on demand, because loading takes a moment. */
export const loadSecretlint = () =>
  Promise.all([
    import("@secretlint/core"),
    import("@secretlint/secretlint-rule-preset-recommend"),
    import("@secretlint/profiler"),
  ]);

/**
 * Credentials that secretlint's recommended rules and our own for AWS keys find in a text, in no order; `extension` is the file's, without
 * a dot.
 */
export async function lintSecrets(content: string, extension: string): Promise<LintMatch[]> {
  const [{ lintSource }, { rules }, { secretLintProfiler }] = await loadSecretlint();
  // Otherwise it keeps about eighty marks per file in the process's performance buffer, for ever.
  secretLintProfiler.setEnabled(false);
  const name = (id: string) => id.replace(/^.*secretlint-rule-/, "");
  const taken = rules.filter((rule) => !ignoredRules.includes(name(rule.meta.id)));
  const result = await lintSource({
    // A made-up name: secretlint opens some files by their path, and this text is not a file.
    source: { filePath: `change.${extension}`, content, ext: `.${extension}`, contentType: "text" },
    options: {
      noPhysicFilePath: true,
      maskSecrets: true,
      config: { rules: taken.map((rule) => ({ id: rule.meta.id, rule })) },
    },
  });
  const linted = result.messages
    .filter((message) => !ignoredMessages.includes(message.messageId))
    .map((message) => ({ rule: name(message.ruleId), start: message.range[0], end: message.range[1] }));
  return [...linted, ...awsSecretKeysIn(content)];
}

/** `scheme://user:password@host` with a placeholder as the password, or on a machine that others cannot reach. */
export function isMadeUpAddress(value: string): boolean {
  const parts = /:\/\/[^:/@]*:([^@]*)@(\[[\da-f:.]{2,45}\]|[^/:?#"'`\s]*)/i.exec(value);
  if (!parts) return false;
  const [, password = "", host = ""] = parts;
  return placeholderPassword.test(password) || localHost.test(host);
}
