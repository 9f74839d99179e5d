import { withoutSecrets } from "../secrets/redact.ts";
import type { PublicText } from "../text/public-text.ts";

/**
 * What the renderers of this room wrote, as text that may stand in public: the last look takes out whatever shows to be a secret.
 * What others wrote in it was made harmless where it was put in (`untrustedBlock`, `untrustedLine`, `untrustedCode`): that cannot
 * be told from Markdown of ours any more.
 */
export function publicText(written: string): PublicText {
  return withoutSecrets(written) as PublicText;
}
