import { posix } from "node:path";

/** Source code, and files that show what a secret file looks like. */
const harmless =
  /\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kts?|cs|php|c|cc|cpp|h|hpp|swift|scala|sh|pub|md|rst|adoc|html?|css|(?:.*[.-])?(?:example|sample|template|tmpl|tpl|dist))$/i;

/** Of programs that keep secrets in them, also as copies: `.npmrc.bak`, `id_rsa.old`, `#.env#`. */
const files =
  /^(?:\.env(?:[.-].*)?|.*\.env|env\.\w+|.*\.(?:pem|key|p8|p12|pfx|jks|keystore|ppk|ovpn|asc|kdbx|tfvars|tfstate)|id_(?:[^.]*|(?:rsa|dsa|ecdsa|ed25519).*)|\.(?:npmrc|netrc|pypirc|pgpass|git-credentials|htpasswd|my\.cnf|s3cfg|vault-token|dockercfg|boto)|_netrc|credentials(?:\.\w+)?|(?:client_?)?secrets?\.(?:ya?ml|json|toml|ini|properties|xml)|service[-_]?account.*\.json|auth\.json|vault[-_]?pass.*|.*\.tfvars\.json)$/i;
const folders =
  /(?:^|\/)(?:\.aws\/(?:credentials|config)|\.kube\/config|\.docker\/config\.json|\.ssh\/.*|\.gnupg\/.*|\.config\/gcloud\/.*)$/i;

/** Whether a file is named like one with secrets, which people forget to ignore. */
export function isNamedLikeSecret(path: string): boolean {
  const name = posix
    .basename(path)
    .replace(/^#(.*)#$/, "$1")
    .replace(/(?:\.(?:bak|old|orig|save|swp|backup|\d+)|~)+$/i, "");
  return !harmless.test(name) && (files.test(name) || folders.test(path));
}

/** Why no model sees such a file in a local review, if it is new and staged or committed. */
export const NAMED_LIKE_SECRET = "named like a secret: only scanned for secrets";
