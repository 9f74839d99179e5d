const censored = "[secret]";

/** GitHub's tokens by form (the newest hold a JWT, hence dot and dash), OpenAI's keys, and private keys in PEM. */
const secretForms =
  /\bgh[pousr]_[\w.-]{16,}|\bgithub_pat_\w{16,}|\bsk-[\w-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\\\s]*(-----END [A-Z ]*PRIVATE KEY-----)?/g;

/** `text` without anything that shows by its form to be a secret. */
export function withoutSecretForms(text: string): string {
  return text.replace(secretForms, censored);
}
