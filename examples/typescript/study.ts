// A study in TypeScript: types from the OpenAPI document, calls by fetch. See README.md.
import type { components } from "./api";

type Schemas = components["schemas"];

const address = process.env["ADABKB_URL"] ?? "http://127.0.0.1:8000";

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json" };
    init.body = JSON.stringify(body);
  }
  const response = await fetch(address + path, init);
  if (!response.ok) {
    const problem = (await response.json()) as Schemas["Problem"];
    throw new Error(`${problem.code}: ${problem.detail}`);
  }
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

const definition: Schemas["StudyDefinition"] = {
  direction: "minimize",
  budget: 10,
  parameters: [{ name: "x", kind: "float", low: -1, high: 2 }],
};
const study = await call<Schemas["Study"]>("POST", "/v1/studies", definition);
const path = `/v1/studies/${study.id}`;

for (;;) {
  const { trials, reason } = await call<Schemas["Suggested"]>("POST", `${path}/suggest`);
  if (trials.length === 0) {
    console.log(`no further trials: ${reason}`);
    break;
  }
  for (const trial of trials) {
    const x = trial.parameters["x"] as number;
    const result: Schemas["TrialValueBody"] = { trial: trial.number, value: (x - 0.3) ** 2 };
    await call<Schemas["Observed"]>("POST", `${path}/observe`, result);
  }
}

const correction: Schemas["CorrectionBody"] = { excluded: true };
const corrected = await call<Schemas["Corrected"]>("PATCH", `${path}/observations/1`, correction);
console.log(`result 1 is excluded and keeps its value ${corrected.observation.value}`);

const tags: Schemas["PatchStudyBody"] = { tags: { language: "TypeScript" } };
const changed = await call<Schemas["Study"]>("PATCH", path, tags);
console.log(`the study keeps its budget of ${changed.budget}; its best value is ${changed.best?.value}`);

const listed = await call<Schemas["Page_Study_"]>("GET", "/v1/studies");
console.log(`${listed.items.length} studies are on the server`);
await call<undefined>("DELETE", path);
