import { describe, expect, it } from "vitest";
import { isNamedLikeSecret } from "../../../src/core/secrets/file-names.ts";

describe("a file that is named like a secret", () => {
  it.each(
    `.env .env.local .env-prod prod.env docker/app.env env.production credentials.json config/credentials service-account.json
    service_account_prod.json .aws/credentials .kube/config .docker/config.json .htpasswd .my.cnf .s3cfg terraform.tfvars
    terraform.tfstate terraform.tfstate.backup secrets.yml client_secret.json server.key server.key.bak .npmrc.bak .netrc.old _netrc
    .vault-token auth.json .ssh/config .ssh/id_work client.ovpn vault_pass.txt private.asc key.ppk .gnupg/secring.asc AuthKey.p8
    #.env# .env~ tls/server.PEM id_rsa id_rsa.old passwords.kdbx .vault_pass .env_prod .envrc .kube/config.bak .kube/config~
    .kube/config-prod .aws/config.bak .docker/config.json.bak kubeconfig kubeconfig.yaml .claude/.credentials.json
    client_secret_12.apps.googleusercontent.com.json shop-firebase-adminsdk-ab12c-0123456789.json rclone.conf .npmrc-old
    application_default_credentials.json secrets.prod.yaml ssh_host_rsa_key deploy_key`
      .split(/\s+/)
      .concat(".env copy"),
  )("is told by its name: %s", (path) => expect(isNamedLikeSecret(path)).toBe(true));

  it.each(
    `.env.example .env.sample prod.env.template .env.dist src/credentials.ts lib/secrets.py secrets.go src/auth.js env.ts environment.yml
    id_card.tsx id_rsa.pub docs/secrets.md keys.json package.json README.env.md terraform.tf server.crt .ssh.md tokens.css
    authentication.json secret_santa.json config.json .envoy.yaml monkey.txt credentials.vue credentials.svelte credentials.dart
    credentials.proto credentials.tf credentials.ex credentials.sql credentials.lua credentials.graphql credentials.hbs
    credentials.pyi env.vue env.dart env.ex env.tf locales/en/auth.json locales/en/credentials.json id_generator example.env
    certs/ca.pem secrets.example.yaml ssh_host_rsa_key.pub`.split(/\s+/),
  )("is not what shows how to write one, source code, or another file: %s", (path) =>
    expect(isNamedLikeSecret(path)).toBe(false),
  );
});
