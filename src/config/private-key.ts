import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { AppError, errorLine } from "../errors.ts";

const remedy = "Download a private key from the App's settings page and pass its PEM file unchanged.";

/**
 * The App's private key as PKCS #8 PEM. Takes PEM with real or written-out line breaks, in quotes or not, and the base64 of
 * a PEM file: what people get through the `.env` files and secret stores of this world.
 * @throws AppError `config_invalid`; the message never quotes the value.
 */
export function readPrivateKey(text: string, source: string): string {
  const key = parseKey(asPem(text), source);
  if (key.asymmetricKeyType !== "rsa") {
    throw new AppError("config_invalid", `${source} holds an ${key.asymmetricKeyType} key, GitHub uses RSA`, {
      remedy,
    });
  }
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

/** @throws AppError `config_invalid`. */
export function readPrivateKeyFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new AppError("config_invalid", `PRIVATE_KEY_PATH cannot be read: ${errorLine(error)}`, {
      remedy: "Name the PEM file that was downloaded from the App's settings page, readable by this user.",
      cause: error,
    });
  }
  return readPrivateKey(text, `PRIVATE_KEY_PATH (${path})`);
}

function asPem(text: string): string {
  const bare = text.trim().replace(/^(["'])(.*)\1$/s, "$2");
  const lines = bare.replaceAll("\\n", "\n");
  return lines.includes("-----BEGIN") ? lines : Buffer.from(lines, "base64").toString("utf8");
}

function parseKey(pem: string, source: string): KeyObject {
  if (!/-----BEGIN (RSA |EC |ENCRYPTED )?PRIVATE KEY-----/.test(pem)) {
    throw new AppError("config_invalid", `${source} is not a private key in PEM format`, { remedy });
  }
  try {
    return createPrivateKey(pem);
  } catch {
    // The error of OpenSSL is left out: it says nothing a person could act on.
    const what = pem.includes("ENCRYPTED") ? "is protected by a passphrase" : "is damaged or cut off";
    throw new AppError("config_invalid", `The private key in ${source} ${what}`, { remedy });
  }
}
