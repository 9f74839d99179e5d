import { describe, expect, it } from "vitest";
import { isMadeUpAddress, lintSecrets } from "../../src/secrets/secretlint.ts";

const real = { password: "Jq8hR2vT", host: "db.shop.io" };
const address = ({ password = real.password, host = real.host }) =>
  `postgres://shop:${password}@${host}:5432/orders?a=b`;

describe("an address with a password", () => {
  it.each([
    ...[
      "x",
      "xxxx",
      "****",
      "...",
      "pass",
      "passwd",
      "password",
      "PASSWORD",
      "pwd",
      "pw",
      "secret",
      "changeme",
    ],
    ...[
      "test",
      "admin",
      "root",
      "user",
      "username",
      "example",
      "postgres",
      "mysql",
      "mongo",
      "guest",
      "tiger",
    ],
    ...[
      "token",
      "your_password",
      "MY_PLACEHOLDER_1",
      "<password>",
      "{password}",
      "[secret]",
      "$PASSWORD",
      "%s",
    ],
  ])("is made up with this one: %j", (password) => {
    expect(isMadeUpAddress(address({ password }))).toBe(true);
  });

  it.each([
    ...[
      "localhost",
      "127.0.0.1",
      "127.1",
      "0.0.0.0",
      "[::1]",
      "database",
      "my-db",
      "db.local",
      "a.b.internal",
    ],
    ...[
      "db.test",
      "db.localhost",
      "x.invalid",
      "example.com",
      "api.example.com",
      "my.host.net",
      "domain.org",
    ],
    "server.io",
  ])("is made up at this host: %s", (host) => {
    expect(isMadeUpAddress(`https://shop:${real.password}@${host}/a`)).toBe(true);
  });

  it.each([
    ...["xy8hR2vT", "passwordJq8hR2", "my-test", "Jq8$", "x*", "password1", "your-Jq8hR2vT!"].map(
      (password) => address({ password }),
    ),
    ...[
      "db.shop.io",
      "127.0.0.1.shop.io",
      "localhost.shop.io",
      "test.shop.io",
      "8.8.8.8",
      "myexample.shop.io",
    ].map((host) => address({ host })),
    ...["postgres://:Jq8hR2vT@db.shop.io", `see ${address({})}`, `'${address({})}'`],
  ])("is not made up otherwise: %s", (one) => expect(isMadeUpAddress(one)).toBe(false));

  it.each(["https://shop.io/a", "mailto:shop@example.com", "https://shop@example.com/", ""])(
    "is none: %j",
    (text) => expect(isMadeUpAddress(text)).toBe(false),
  );
});

describe("the key of an AWS account", () => {
  const key = "q7Zk39xPvLm2wRt0aB1cD3eF5gH6iJ8kL4nM/+9o";

  it.each([
    ["as it is assigned in a shell", "AWS_SECRET_ACCESS_KEY=", ""],
    ["in JSON", '{ "secretAccessKey": "', '" }'],
    ["in YAML", "aws-secret-access-key: ", "\n"],
    ["in a hash of Ruby", "secret_access_key => '", "'"],
    ["in Go", 'secretAccessKey := "', '"'],
  ])("is found where it begins and ends: %s", async (_, before, after) => {
    const [found, ...others] = await lintSecrets(`${before}${key}${after}`, "txt");
    expect([found, others]).toEqual([
      { rule: "aws", start: before.length, end: before.length + key.length },
      [],
    ]);
  });

  it.each([
    ["longer", `AWS_SECRET_ACCESS_KEY=${key}A`],
    ["shorter", `AWS_SECRET_ACCESS_KEY=${key.slice(1)}`],
    ["of AWS's documentation", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"],
    ["an account's number", 'AWS_ACCOUNT_ID = "123456789012"'],
  ])("is not what is %s", async (_, text) => {
    expect(await lintSecrets(text, "txt")).toEqual([]);
  });
});
