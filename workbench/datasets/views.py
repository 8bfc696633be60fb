"""Pages of data sets: the list, one data set, one instance, and the import."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from workbench.datasets.forms import ImportForm
from workbench.datasets.models import Dataset, DatasetVersion, Instance
from workbench.datasets.reading import InstanceData, instances_read
from workbench.datasets.selectors import datasets_listed, instances_found, neighbours, splits_of
from workbench.datasets.services import version_add, version_same
from workbench.datasets.uploads import upload_keep, upload_read
from workbench.engine.errors import InvalidDocument, WorkbenchError

PAGE = 50
PREVIEWED = 5


@require_GET
def dataset_list(request: HttpRequest) -> HttpResponse:
    return render(request, "datasets/dataset_list.html", {"datasets": datasets_listed()})


@require_GET
def dataset_detail(request: HttpRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(Dataset, name=name)
    version = version_asked(dataset, request.GET.get("version", ""))
    search, split = request.GET.get("q", "").replace("\0", "").strip(), request.GET.get("split", "").replace("\0", "")
    found = instances_found(version, words=search, split=split) if version else Instance.objects.none()
    context: dict[str, object] = {
        "dataset": dataset,
        "version": version,
        "page": Paginator(found, PAGE).get_page(request.GET.get("page")),
        "search": search,
        "split": split,
    }
    if request.headers.get("HX-Target") == "instances":
        return render(request, "datasets/_instances.html", context)
    context |= {"versions": dataset.versions.all()[:200], "splits": splits_of(version) if version else []}
    return render(request, "datasets/dataset_detail.html", context)


def version_asked(dataset: Dataset, number: str) -> DatasetVersion | None:
    """The version in the address; the newest where it names none."""
    if not number:
        return dataset.versions.first()
    version = dataset.versions.filter(number=number).first() if number.isascii() and number.isdigit() else None
    if version is None:
        raise Http404(f"{dataset.name} has no version {number[:20]}.")
    return version


@require_GET
def instance_detail(request: HttpRequest, name: str, number: int, key: str) -> HttpResponse:
    instance = get_object_or_404(
        Instance.objects.select_related("version__dataset"),
        version__dataset__name=name,
        version__number=number,
        key=key,
    )
    before, after = neighbours(instance)
    context = {"instance": instance, "version": instance.version, "before": before, "after": after}
    return render(request, "datasets/instance_detail.html", context)


@require_http_methods(["GET", "POST"])
def dataset_import(request: HttpRequest) -> HttpResponse:
    """A file is looked at first, then added: the first post answers with the preview, the second imports."""
    initial = {"name": request.GET.get("name", "")}
    form = ImportForm(request.POST or None, request.FILES or None, initial=initial, label_suffix="")
    context: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            instances, token = uploaded(form)
            if request.POST.get("step") == "import":
                return imported(request, form, instances)
            context["preview"] = preview(form, instances, token)
        except InvalidDocument as error:
            context["refused"] = error
        except WorkbenchError as error:
            form.add_error("file", str(error))
    return render(request, "datasets/dataset_import.html", context)


def uploaded(form: ImportForm) -> tuple[list[InstanceData], str]:
    """The instances of the file that was posted now, or kept before, and its token."""
    file, filename = form.cleaned_data["file"], form.cleaned_data["filename"]
    if file is None:
        token = form.cleaned_data["upload"]
        return instances_read(upload_read(token), token), token
    data = file.read()
    instances = instances_read(data, filename)
    return instances, upload_keep(data, filename)


def preview(form: ImportForm, instances: list[InstanceData], token: str) -> dict[str, object]:
    """What the second step will do, and the first instances as they were understood."""
    name = form.cleaned_data["name"]
    return {
        "name": name,
        "title": form.cleaned_data["title"],
        "filename": form.cleaned_data["filename"],
        "token": token,
        "count": len(instances),
        "first": instances[:PREVIEWED],
        "without_reference": sum(not instance.references for instance in instances),
        "splits": sorted({instance.split for instance in instances if instance.split}),
        "same": version_same(name, instances),
        "newest": DatasetVersion.objects.filter(dataset__name=name).first(),
    }


def imported(request: HttpRequest, form: ImportForm, instances: list[InstanceData]) -> HttpResponse:
    """Add the version, say what happened, and show it."""
    given = form.cleaned_data
    version, created = version_add(given["name"], instances, title=given["title"], source=given["filename"])
    if created:
        messages.success(request, f"{version} holds {version.count:,} instance{pluralize(version.count)}.")
    else:
        messages.info(request, f"The file holds exactly what {version} holds: there is no new version.")
    return redirect(reverse("dataset_detail", args=[version.dataset.name]))
