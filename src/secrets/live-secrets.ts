const censored = "[secret]";

/** Registered values that must not appear in any log line or public text, whoever writes it. */
const keptSecrets = new Map<string, readonly string[]>();
const passingSecrets = new Map<string, readonly string[]>();
/** Tokens live an hour and are many: the oldest are forgotten, and their form gives them away still. */
const mostPassing = 100;

/**
 * Has an exact value replaced wherever text leaves this process from now on, as it is, as JSON writes it, URL-encoded and as base64, also in the
 * middle of a longer base64 text. `keep` is for those of the environment; tokens pass. Values shorter than 8 characters are left alone: they would eat ordinary words.
 */
export function registerSecret(value: string, options: { keep: boolean } = { keep: false }): void {
  if (value.length < 8) return;
  const secrets = options.keep ? keptSecrets : passingSecrets;
  secrets.delete(value);
  secrets.set(value, spellings(value));
  const [oldest] = passingSecrets.keys();
  if (passingSecrets.size > mostPassing && oldest) passingSecrets.delete(oldest);
}

function spellings(value: string): string[] {
  const bytes = Buffer.from(value);
  // Base64 works on groups of three bytes, so inside a longer text a value has three spellings. The first and the last
  // character of each may hold bits of the neighbours.
  const aligned = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replaceAll("=", "");
    return text.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  const json = JSON.stringify(value).slice(1, -1);
  return [...new Set([value, json, encodeURIComponent(value), ...aligned])];
}

/** `text` without any registered value. */
export function withoutLiveSecrets(text: string): string {
  let clean = text;
  for (const forms of [...keptSecrets.values(), ...passingSecrets.values()]) {
    for (const form of forms) clean = clean.replaceAll(form, censored);
  }
  return clean;
}
