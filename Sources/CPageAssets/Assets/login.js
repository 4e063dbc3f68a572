// Signs in with the page's password. Whoever opened the link of `jostle page` never comes here.
import { post } from "./text.js";

const form = document.getElementById("login");
const field = document.getElementById("password");
const problem = document.getElementById("problem");
const button = form.querySelector("button");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (button.disabled) return;
  button.disabled = true;
  say("");
  try {
    await post("api/login", { password: field.value });
    // The view that was asked for.
    location.replace(`./${location.search}`);
  } catch (error) {
    explain(error);
  }
});

function explain(error) {
  if (error.status === 429) return wait(Math.min(Math.ceil(error.retryAfter ?? 30), 86400));
  button.disabled = false;
  if (error.status === 401) say("This is not the password of this page.");
  else if (error.status === 404) {
    say("This page has no password. Open the link that “jostle page” printed, or make one with “jostle page link”.");
  } else say(error.message);
  field.setAttribute("aria-invalid", String(error.status === 401));
  field.focus();
  return field.select();
}

/** Counts down until the server accepts another attempt. */
function wait(seconds) {
  const end = Date.now() + seconds * 1000;
  // Said once: a live region that changed every second would be read aloud every second.
  say(`Too many attempts. Wait ${seconds} s, then try again.`);
  const timer = setInterval(() => {
    const left = Math.ceil((end - Date.now()) / 1000);
    button.textContent = left > 0 ? `Sign in (in ${left} s)` : "Sign in";
    if (left > 0) return;
    clearInterval(timer);
    button.disabled = false;
    say("");
  }, 500);
}

function say(text) {
  problem.textContent = text;
}
