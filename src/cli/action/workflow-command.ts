import { withoutSecrets } from "../../secrets/redact.ts";

/**
 * A workflow command (https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands). Its text is hostile: with these
 * escapes it stays one line, one property or one message.
 */
export function command(name: string, properties: Record<string, string>, message: string): string {
  const given = Object.entries(properties).map(
    ([key, value]) => `${key}=${escapedProperty(withoutSecrets(value))}`,
  );
  return `::${name}${given.length === 0 ? "" : ` ${given.join(",")}`}::${escaped(withoutSecrets(message))}`;
}

const escaped = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
const escapedProperty = (text: string) => escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
