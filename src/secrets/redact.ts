import { withoutSecretForms } from "./forms.ts";
import { withoutLiveSecrets } from "./live-secrets.ts";

/** `text` without any secret that is registered or shows by its form. For lines, and as the last look at what leaves. */
export function withoutSecrets(text: string): string {
  return withoutSecretForms(withoutLiveSecrets(text));
}
