// A certified OpenID Connect provider for the tests: node provider.mjs PACKAGES CONFIG
//
// Its login form takes any password. The name says which person logs in.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, text] = process.argv.slice(2);
const { port, people, client, key, claims, endSession } = JSON.parse(text);
const found = createRequire(`${packages}/`).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(found));

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client],
  claims: { openid: ["sub"], profile: ["name", "preferred_username", "groups"], email: ["email", "email_verified"] },
  conformIdTokenClaims: !claims, // otherwise the ID token has the claims of the scopes, too
  cookies: { keys: ["a key of the tests"] },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: endSession } },
  findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  jwks: { keys: [key] },
  pkce: { required: () => true },
  async loadExistingGrant(context) {
    const grant = new context.oidc.provider.Grant({
      clientId: context.oidc.client.clientId,
      accountId: context.oidc.session.accountId,
    });
    grant.addOIDCScope("openid profile email");
    await grant.save();
    return grant;
  },
});
provider.listen(port, "127.0.0.1", () => console.log("listening"));
