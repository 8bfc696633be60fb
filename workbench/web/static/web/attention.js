// Open questions reach whoever looks at another page: their number stands in the title, and a new one is a notification
// where the person asked for that. The number itself comes with the navigation; without this script nothing else is lost.

const KEY = "workbench.notify";
const title = document.title;
let seen = null;

const wanted = () => "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "yes";

function look() {
  const told = document.querySelector("[data-count] [data-open]");
  const { open = "0", newest = "0", words = "", url = "" } = told ? told.dataset : {};
  document.title = open === "0" ? title : `(${open}) ${title}`;
  if (seen !== null && Number(newest) > seen && wanted()) {
    const notice = new Notification("A run asks you something", { body: words, tag: `workbench-question-${newest}` });
    notice.onclick = () => { window.focus(); window.location.assign(url); };
  }
  seen = Math.max(seen ?? 0, Number(newest));
}

function offer(button) {
  if (!("Notification" in window) || Notification.permission === "denied") return;
  button.hidden = false;
  const show = () => {
    button.textContent = wanted() ? "Notify me no more" : "Notify me";
    button.setAttribute("aria-pressed", String(wanted()));
  };
  button.addEventListener("click", async () => {
    if (wanted()) localStorage.removeItem(KEY);
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(KEY, "yes");
    show();
  });
  show();
}

document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.matches?.("[data-count]")) look();
});
document.querySelectorAll("[data-notify]").forEach(offer);
