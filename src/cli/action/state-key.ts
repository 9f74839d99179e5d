import { hkdfSync } from "node:crypto";
import { looksRandom } from "../../core/secrets/randomness.ts";

const LEAST_CHARACTERS = 32;
/** Tokens of GitHub, of clouds and of log-ins end after minutes or hours: with the next one, nothing would be remembered. */
const SHORT_LIVED = /^(?:gh[a-z]_|github_pat_|eyJ|ya29\.|ASIA)/;
const LABEL = "hunkwise: the key of what the action remembers, version 1";

/**
 * The key with which a workflow without `state-key` signs what it remembers: derived from the key of the model's provider, if that lasts and
 * cannot be guessed; otherwise null. It does not give the provider's key away.
 *
 * @param repository its id, so that no two repositories have the same key
 */
export function derivedStateKey(providerKey: string | null | undefined, repository: number): string | null {
  if (!providerKey || SHORT_LIVED.test(providerKey) || !looksRandom(providerKey, LEAST_CHARACTERS))
    return null;
  return Buffer.from(hkdfSync("sha256", providerKey, `${repository}`, LABEL, 32)).toString("hex");
}
