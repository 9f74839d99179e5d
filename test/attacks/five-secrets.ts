import { randomBytes } from "node:crypto";

/** Random in every run, so that no scanner finds a token in this repository. */
const word = (length: number) =>
  randomBytes(length * 2)
    .toString("base64")
    .replace(/\W/g, "")
    .slice(0, length);

/** A file that commits five secrets, each on its own line, from line 2 on. */
export function fiveSecrets() {
  const values = [
    randomBytes(60).toString("base64").replaceAll("=", "A").slice(0, 40),
    `ghp_${word(36)}`,
    `Q7x${word(12)}`,
    `sk_live_${word(24)}`,
    `xoxb-1234567890123-${word(24)}`,
  ];
  const [aws, github, postgres, stripe, slack] = values;
  const lines = [
    "import os",
    `AWS_SECRET_ACCESS_KEY = "${aws}"`,
    `GITHUB_TOKEN = "${github}"`,
    `DATABASE_URL = "postgresql://shop:${postgres}@db.shop.io:5432/shop"`,
    `STRIPE_KEY = "${stripe}"`,
    `SLACK_TOKEN = "${slack}"`,
    "",
  ];
  return { path: "config.py", text: lines.join("\n"), lines: [2, 3, 4, 5, 6], values };
}
