// Pairforge from C++17: the calls of pairforge.h as types that free what they hold, with exceptions in place of statuses.
#ifndef PAIRFORGE_HPP
#define PAIRFORGE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pairforge.h"

namespace pairforge {

// The sentence of a call that failed.
class error : public std::runtime_error {
public:
    error(pairforge_status status, const std::string &text) : std::runtime_error(text), status_(status) {}

    pairforge_status status() const noexcept { return status_; }

private:
    pairforge_status status_;
};

namespace detail {

inline void check(pairforge_status status)
{
    if (status != PAIRFORGE_OK)
        throw error(status, pairforge_last_error());
}

template <auto Free> struct freed {
    template <class T> void operator()(T *thing) const noexcept { Free(thing); }
};

template <class T, auto Free> using owner = std::unique_ptr<T, freed<Free>>;

inline std::string taken(char *text)
{
    owner<char, pairforge_text_free> owned(text);
    return text ? std::string(text) : std::string();
}

} // namespace detail

inline std::string version() { return pairforge_version(); }

// Points that the caller keeps: columns, or triples one behind the other.
struct points : pairforge_points {
    points(const double *x, const double *y, const double *z, std::size_t count, std::ptrdiff_t stride = 1)
        : pairforge_points{x, y, z, count, stride}
    {
    }

    points(const std::vector<double> &x, const std::vector<double> &y, const std::vector<double> &z)
        : pairforge_points{x.data(), y.data(), z.data(), x.size(), 1}
    {
        if (y.size() != x.size() || z.size() != x.size())
            throw error(PAIRFORGE_INPUT, "columns of coordinates have different lengths");
    }

    points(const std::vector<std::array<double, 3>> &triples) : points(triples.data(), triples.size()) {}

    points(const std::array<double, 3> *triples, std::size_t count)
        : pairforge_points{reinterpret_cast<const double *>(triples), nullptr, nullptr, count, 3}
    {
        if (x) {
            y = x + 1;
            z = x + 2;
        }
    }
};

// Options of a plan by their names, as in `options().set("tolerance", 1e-6).set("backend", "cuda")`.
class options {
public:
    options()
    {
        pairforge_options *made = nullptr;
        detail::check(pairforge_options_new(&made));
        held_.reset(made);
    }

    options &set(const std::string &name, double value) &
    {
        detail::check(pairforge_options_set_number(held_.get(), name.c_str(), value));
        return *this;
    }

    options &set(const std::string &name, const std::string &value) &
    {
        detail::check(pairforge_options_set_text(held_.get(), name.c_str(), value.c_str()));
        return *this;
    }

    options set(const std::string &name, double value) && { return std::move(set(name, value)); }
    options set(const std::string &name, const std::string &value) && { return std::move(set(name, value)); }

    const pairforge_options *get() const noexcept { return held_.get(); }

private:
    detail::owner<pairforge_options, pairforge_options_free> held_;
};

// Potential and gradient at all targets, and the Hessian where the plan has been asked for it.
struct field {
    std::vector<double> potential;
    std::array<std::vector<double>, 3> gradient;
    std::array<std::vector<double>, 6> hessian;

    explicit field(std::size_t count, bool with_hessian = false) : potential(count)
    {
        gradient.fill(std::vector<double>(count));
        if (with_hessian)
            hessian.fill(std::vector<double>(count));
    }

    pairforge_field room()
    {
        pairforge_field room{};
        room.potential = potential.data();
        room.gx = gradient[0].data();
        room.gy = gradient[1].data();
        room.gz = gradient[2].data();
        for (int a = 0; a < 6; a++)
            room.hessian[a] = hessian[a].empty() ? nullptr : hessian[a].data();
        room.count = potential.size();
        room.potential_stride = room.gradient_stride = room.hessian_stride = 1;
        return room;
    }
};

// Charges of sources, their dipole moments, or both, which the caller keeps.
struct sources : pairforge_sources {
    sources(const std::vector<double> &q) : pairforge_sources{q.data(), nullptr, nullptr, nullptr, q.size(), 1, 3} {}

    sources(const std::vector<std::array<double, 3>> &moments) : pairforge_sources{}
    {
        count = moments.size();
        charge_stride = 1;
        dipole_stride = 3;
        if (count)
            set(moments[0].data());
    }

    sources(const std::vector<double> &q, const std::vector<std::array<double, 3>> &moments) : sources(moments)
    {
        if (q.size() != moments.size())
            throw error(PAIRFORGE_INPUT, "there must be as many charges as dipole moments");
        charges = q.data();
    }

private:
    void set(const double *first)
    {
        px = first;
        py = first + 1;
        pz = first + 2;
    }
};

// An FMM for sources and targets at fixed positions, for any number of sets of charges.
class plan {
public:
    explicit plan(const points &sources) { make(sources, nullptr, nullptr); }
    plan(const points &sources, const options &options) { make(sources, nullptr, options.get()); }
    plan(const points &sources, const points &targets, const options &options) { make(sources, &targets, options.get()); }

    void update(const points &sources) { renew(sources, nullptr); }
    void update(const points &sources, const points &targets) { renew(sources, &targets); }

    std::size_t targets() const noexcept { return targets_; }

    field run(const std::vector<double> &charges, bool with_hessian = false) const
    {
        field found(targets_, with_hessian);
        pairforge_field room = found.room();
        run(charges.data(), charges.size(), 1, room);
        return found;
    }

    // The fields of several sets at once.
    std::vector<field> run(const std::vector<sources> &sets, bool with_hessian = false) const
    {
        std::vector<field> found(sets.size(), field(targets_, with_hessian));
        std::vector<pairforge_field> rooms;
        for (auto &one : found)
            rooms.push_back(one.room());
        const std::vector<pairforge_sources> plain(sets.begin(), sets.end());
        detail::check(pairforge_plan_run_sets(held_.get(), plain.data(), rooms.data(), plain.size()));
        return found;
    }

    field run(const sources &set, bool with_hessian = false) const
    {
        return std::move(run(std::vector<sources>{set}, with_hessian)[0]);
    }

    // Into arrays of the caller's.
    void run(const double *charges, std::size_t count, std::ptrdiff_t stride, const pairforge_field &room) const
    {
        detail::check(pairforge_plan_run(held_.get(), charges, count, stride, &room));
    }

private:
    void make(const points &sources, const points *targets, const pairforge_options *options)
    {
        pairforge_plan *made = nullptr;
        detail::check(pairforge_plan_new(&sources, targets, options, &made));
        held_.reset(made);
        targets_ = targets ? targets->count : sources.count;
    }

    void renew(const points &sources, const points *targets)
    {
        detail::check(pairforge_plan_update(held_.get(), &sources, targets));
        targets_ = targets ? targets->count : sources.count;
    }

    detail::owner<pairforge_plan, pairforge_plan_free> held_;
    std::size_t targets_ = 0;
};

// Points on a GPU that the caller keeps there, float or double: columns, or triples one behind the other.
struct gpu_points : pairforge_gpu_points {
    template <class T>
    gpu_points(const T *x, const T *y, const T *z, std::size_t count, std::ptrdiff_t stride = 1)
        : pairforge_gpu_points{x, y, z, count, stride, sizeof(T)}
    {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "numbers on a GPU are float or double");
    }

    template <class T>
    gpu_points(const T *triples, std::size_t count) : gpu_points(triples, triples + 1, triples + 2, count, 3)
    {
    }
};

// Charges of sources on a GPU, their dipole moments (triples one behind the other), or both, which the caller keeps there.
template <class T> struct gpu_sources : pairforge_gpu_sources {
    gpu_sources(const T *charges, const T *moments, std::size_t count)
        : pairforge_gpu_sources{charges, moments, moments ? moments + 1 : nullptr, moments ? moments + 2 : nullptr, count, 1, 3, sizeof(T)}
    {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "numbers on a GPU are float or double");
    }
};

// An FMM for data on a GPU. `stream` is a CUstream or a cudaStream_t of it; null is the default stream.
class gpu_plan {
public:
    enum class host { refused, allowed };

    explicit gpu_plan(const gpu_points &sources, const options &options, void *stream = nullptr, host host = host::refused)
    {
        make(sources, nullptr, options, stream, host);
    }

    gpu_plan(const gpu_points &sources, const gpu_points &targets, const options &options, void *stream = nullptr,
             host host = host::refused)
    {
        make(sources, &targets, options, stream, host);
    }

    void update(const gpu_points &sources, void *stream = nullptr)
    {
        detail::check(pairforge_gpu_plan_update(held_.get(), &sources, nullptr, stream));
    }

    void update(const gpu_points &sources, const gpu_points &targets, void *stream = nullptr)
    {
        detail::check(pairforge_gpu_plan_update(held_.get(), &sources, &targets, stream));
    }

    template <class T>
    void run(const T *charges, std::size_t count, const pairforge_gpu_field &room, void *stream = nullptr)
    {
        detail::check(pairforge_gpu_plan_run(held_.get(), charges, count, 1, sizeof(T), &room, stream));
    }

    // For charges or dipole moments, or both.
    void run(const pairforge_gpu_sources &set, const pairforge_gpu_field &room, void *stream = nullptr)
    {
        detail::check(pairforge_gpu_plan_run_set(held_.get(), &set, &room, stream));
    }

private:
    void make(const gpu_points &sources, const gpu_points *targets, const options &options, void *stream, host host)
    {
        pairforge_gpu_plan *made = nullptr;
        detail::check(pairforge_gpu_plan_new(&sources, targets, options.get(), host == host::allowed, stream, &made));
        held_.reset(made);
    }

    detail::owner<pairforge_gpu_plan, pairforge_gpu_plan_free> held_;
};

// Sums in f64 over all pairs.
inline field direct(const points &sources, const std::vector<double> &charges, double eps = 0)
{
    if (charges.size() != sources.count)
        throw error(PAIRFORGE_INPUT, "there must be as many charges as sources");
    field found(sources.count);
    pairforge_field room = found.room();
    detail::check(pairforge_direct(&sources, nullptr, charges.data(), 1, eps, &room));
    return found;
}

inline field direct(const points &points, const sources &set, double eps = 0)
{
    field found(points.count);
    pairforge_field room = found.room();
    detail::check(pairforge_direct_set(&points, nullptr, &set, eps, &room));
    return found;
}

// Columns of numbers by the names of pins, which the caller keeps.
class records {
public:
    records &column(const std::string &name, const std::vector<double> &values)
    {
        return column(name, values.data(), values.size(), 1);
    }

    records &column(const std::string &name, const double *values, std::size_t count, std::ptrdiff_t stride)
    {
        columns_.push_back({name, values, count, stride});
        return *this;
    }

    template <std::size_t N> records &vectors(const std::string &name, const std::vector<std::array<double, N>> &values)
    {
        for (std::size_t k = 0; k < N; k++)
            column(name + "[" + std::to_string(k) + "]", values.empty() ? nullptr : values[0].data() + k, values.size(), N);
        return *this;
    }

    std::vector<pairforge_column> get() const
    {
        std::vector<pairforge_column> all;
        for (const auto &c : columns_)
            all.push_back({c.name.c_str(), c.values, c.count, c.stride});
        return all;
    }

private:
    struct one {
        std::string name;
        const double *values;
        std::size_t count;
        std::ptrdiff_t stride;
    };
    std::vector<one> columns_;
};

// Sums of a kernel at `count` targets.
class sums {
public:
    sums(pairforge_sums *made, std::size_t count) : held_(made), count_(count) {}

    std::vector<double> column(const std::string &name) const
    {
        std::vector<double> values(count_);
        detail::check(pairforge_sums_column(held_.get(), name.c_str(), values.data(), count_, 1));
        return values;
    }

    std::uint32_t flags(std::size_t target) const noexcept { return pairforge_sums_flags(held_.get(), target); }

private:
    detail::owner<pairforge_sums, pairforge_sums_free> held_;
    std::size_t count_;
};

class session;

// A kernel of PG2.
class kernel {
public:
    static kernel compile(const std::string &name, const std::string &text)
    {
        pairforge_kernel *made = nullptr;
        detail::check(pairforge_kernel_compile(name.c_str(), text.c_str(), &made));
        return kernel(made);
    }

    static kernel shipped(const std::string &name)
    {
        pairforge_kernel *made = nullptr;
        detail::check(pairforge_kernel_shipped(name.c_str(), &made));
        return kernel(made);
    }

    kernel &set(const std::string &param, double value) &
    {
        detail::check(pairforge_kernel_set_param(held_.get(), param.c_str(), value));
        return *this;
    }

    kernel set(const std::string &param, double value) && { return std::move(set(param, value)); }

    sums run(const records &i, const records &j, const std::string &backend = "emulator") const
    {
        const auto targets = i.get(), sources = j.get();
        pairforge_sums *made = nullptr;
        detail::check(pairforge_kernel_run(held_.get(), backend.c_str(), targets.data(), targets.size(), sources.data(),
                                           sources.size(), &made));
        return sums(made, targets.empty() ? 0 : targets[0].count);
    }

    std::string warnings() const
    {
        char *text = nullptr;
        detail::check(pairforge_kernel_warnings(held_.get(), &text));
        return detail::taken(text);
    }

    // Verilog of an engine.
    std::string build(std::uint32_t pipelines = 8) const
    {
        char *text = nullptr;
        detail::check(pairforge_kernel_build(held_.get(), pipelines, &text));
        return detail::taken(text);
    }

private:
    friend class session;
    explicit kernel(pairforge_kernel *made) : held_(made) {}
    detail::owner<pairforge_kernel, pairforge_kernel_free> held_;
};

// A kernel on a backend that stays open, with its sources.
class session {
public:
    explicit session(const kernel &kernel, const std::string &backend = "emulator")
    {
        pairforge_session *made = nullptr;
        detail::check(pairforge_session_open(kernel.held_.get(), backend.c_str(), &made));
        held_.reset(made);
    }

    void set(const std::string &param, double value)
    {
        detail::check(pairforge_session_set_param(held_.get(), param.c_str(), value));
    }

    void sources(const records &j)
    {
        const auto columns = j.get();
        detail::check(pairforge_session_set_sources(held_.get(), columns.data(), columns.size()));
    }

    sums run(const records &i)
    {
        const auto columns = i.get();
        pairforge_sums *made = nullptr;
        detail::check(pairforge_session_run(held_.get(), columns.data(), columns.size(), &made));
        return sums(made, columns.empty() ? 0 : columns[0].count);
    }

private:
    detail::owner<pairforge_session, pairforge_session_close> held_;
};

} // namespace pairforge

#endif
