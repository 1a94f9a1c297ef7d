// Stage: the embedding bags of several tables and of a tile of rows, by warps that share the work on ids
// (IR: embedding_bag_group).
//
// A unit of work is BAGS neighbouring bags (a power of two up to 32), numbered table by table; one warp takes
// it. Every bag has 32 / BAGS lanes of its own, which look for its ids: bounds and ids are read and checked
// once, IDS ids a lane at a time. For the rows the lanes are dealt anew, PACKS to a bag, each with VECTOR
// neighbouring columns, and learn the numbers of the rows by shuffles. AT_ONCE rows of each of its bags are
// on their way to a lane before the first is added.
//
// Where all bags of a table are of one length, a bag begins at a place that is known before its offset is.
// Ids are asked for there along with the offsets, and once more only where an offset says otherwise.
//
// `begin` ends with the first rows on their way; other work may stand between it and `finish`. Sums, checks
// and faults are those of EmbeddingBag; every table has a row, and row numbers are below 2^31.
//
// `Kind` is that of EmbeddingBag and besides: TABLES, ENTRIES (bags a table and tile), BAGS, PACKS, IDS,
// AT_ONCE, which is IDS * 32 / BAGS or, where IDS is 1, divides it, and UNITS_OF_WARP. `sources`
// stand in shared memory, SOURCES for each warp, the first that of its first unit's first table. Needs whole
// warps. No barrier.
//
// requires: embedding_bag.cuh
#ifndef DLRMC_CODEGEN_CUDA_WARP_BAGS_CUH
#define DLRMC_CODEGEN_CUDA_WARP_BAGS_CUH

#include "embedding_bag.cuh"

template <typename Kind>
struct WarpBags {
    using Bag = EmbeddingBag<Kind>;
    using Checks = BagChecks<Kind>;
    using Element = typename Kind::Element;
    using Id = typename Kind::Id;
    static constexpr unsigned all_lanes = 0xffffffffu;
    static constexpr int lanes_of_bag = 32 / Kind::BAGS;
    static constexpr int chunk = Kind::IDS * lanes_of_bag;
    static constexpr int items = (Kind::BAGS * Kind::PACKS + 31) / 32;
    static constexpr int bag_count = Kind::TABLES * Kind::ENTRIES;
    static constexpr int units = (bag_count + Kind::BAGS - 1) / Kind::BAGS;
    static constexpr int warp_bags = Kind::UNITS_OF_WARP * Kind::BAGS;
    static_assert(Kind::IDS == 1 || Kind::AT_ONCE == chunk, "a row's number stands in a register known here");
    static_assert(chunk % Kind::AT_ONCE == 0, "rows of one chunk of ids");

    // Of the lane's own bag: how many ids it has, the position of the first, where they stand, and the rows
    // of the present chunk, -1 where there is none to read.
    long long length;
    long long position;
    const Id* ids;
    const Element* weights;
    int rows[Kind::IDS];
    Element weight[Kind::IDS];
    // What other bags' rows are on their way to the lane.
    Pack<Element, Kind::VECTOR> loaded[items][Kind::AT_ONCE];
    Element factor[items][Kind::AT_ONCE];
    int row_of[items][Kind::AT_ONCE];

    // Bags of entries 0 to `count` of the tile, of which the first is number `first_bag` of `bags` in all.
    __device__ __forceinline__ void begin(const BagSource* sources, int unit, long long first_bag, int count,
                                          long long bags, Faults* faults) {
        const int lane = threadIdx.x % 32;
        const unsigned own = number_of_bag(unit, lane % Kind::BAGS);
        const int entry = own % Kind::ENTRIES;
        const bool is_used = is_bag(own) && entry < count;
        const BagSource& source = source_of(sources, unit, is_used ? lane % Kind::BAGS : 0);
        const long long bag = first_bag + (is_used ? entry : 0);
        const long long guess = Kind::HAS_OFFSETS ? bag * source.bag_stride : 0;
        Id next[Kind::IDS];
        ids = Checks::ids_of(source, bag) + guess * Kind::ID_STRIDE;
        load_ids(0, is_used ? source.id_count - guess : 0, next);
        const BagBounds bounds = Checks::checked(source, bag, bags, Checks::load_bounds(source, bag, bags),
                                                 is_used && lane < Kind::BAGS, faults);
        length = is_used && bounds.begin < bounds.end ? bounds.end - bounds.begin : 0;
        position = Kind::HAS_OFFSETS ? bounds.begin : bag * source.id_count;
        if (Kind::HAS_OFFSETS && bounds.begin != guess) {
            ids = Checks::ids_of(source, bag) + bounds.begin * Kind::ID_STRIDE;
            load_ids(0, length, next);
        }
        if constexpr (Kind::HAS_WEIGHTS) {
            weights = static_cast<const Element*>(source.weights) + bag * Kind::WEIGHT_BAG +
                      bounds.begin * Kind::WEIGHT_STRIDE;
        }
        set_rows(source, 0, next, faults);
        load_rows(sources, unit, 0);
    }

    // Adds what `begin` has asked for and the rest of the bags, and writes them. `y` is a TileView (entry,
    // table, column).
    template <typename Y>
    __device__ __forceinline__ void finish(const BagSource* sources, int unit, int count, Y y,
                                           Faults* faults) {
        typename Bag::Sum sums[items];
        add(sums);
        if (__any_sync(all_lanes, length > Kind::AT_ONCE)) add_rest(sources, unit, sums, faults);
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int place = i * 32 + lane;
            const unsigned own = number_of_bag(unit, place / Kind::PACKS);
            const int entry = own % Kind::ENTRIES;
            if (place >= Kind::BAGS * Kind::PACKS || !is_bag(own) || entry >= count) continue;
            Bag::store(sums[i], y.at(entry, own / Kind::ENTRIES, place % Kind::PACKS * Kind::VECTOR));
        }
    }

  private:
    // That of the table of bag number `bag` of a unit; past the last table, that of the unit's first.
    static __device__ __forceinline__ const BagSource& source_of(const BagSource* sources, int unit,
                                                                 int bag) {
        const unsigned warp = static_cast<unsigned>(unit) / Kind::UNITS_OF_WARP;
        const unsigned own = number_of_bag(unit, is_bag(number_of_bag(unit, bag)) ? bag : 0);
        const BagSource* const first = sources + warp * Kind::SOURCES;
        if constexpr (warp_bags % Kind::ENTRIES == 0) return first[own % warp_bags / Kind::ENTRIES];
        return first[own / Kind::ENTRIES - warp * warp_bags / Kind::ENTRIES];
    }

    // Numbers are unsigned, which halves what their division by constants takes.
    static __device__ __forceinline__ unsigned number_of_bag(int unit, int bag) {
        return static_cast<unsigned>(unit) * Kind::BAGS + static_cast<unsigned>(bag);
    }

    static __device__ __forceinline__ bool is_bag(unsigned number) {
        return bag_count % Kind::BAGS == 0 || number < bag_count;
    }

    // The ids of the next rows are asked for before rows are waited for.
    __device__ __forceinline__ void add_rest(const BagSource* sources, int unit,
                                             typename Bag::Sum (&sums)[items], Faults* faults) {
        const BagSource& source = source_of(sources, unit, threadIdx.x % Kind::BAGS);
        Id next[Kind::IDS];
        load_ids(chunk, length, next);
#pragma unroll 1
        for (long long at = Kind::AT_ONCE; __any_sync(all_lanes, length > at); at += Kind::AT_ONCE) {
            if (at % chunk == 0) {
                set_rows(source, at, next, faults);
                load_ids(at + chunk, length, next);
            }
            load_rows(sources, unit, static_cast<int>(at % chunk));
            add(sums);
        }
    }

    // Ids of the chunk that begins at place `at` of the bag, as far as they stand before `end`.
    __device__ __forceinline__ void load_ids(long long at, long long end, Id (&next)[Kind::IDS]) const {
        const long long place = at + static_cast<int>(threadIdx.x % 32) / Kind::BAGS;
#pragma unroll
        for (int i = 0; i < Kind::IDS; ++i) {
            next[i] = 0;
            if (place + i * lanes_of_bag < end) next[i] = ids[(place + i * lanes_of_bag) * Kind::ID_STRIDE];
        }
    }

    __device__ __forceinline__ void set_rows(const BagSource& source, long long at,
                                             const Id (&next)[Kind::IDS], Faults* faults) {
        const long long place = at + static_cast<int>(threadIdx.x % 32) / Kind::BAGS;
#pragma unroll
        for (int i = 0; i < Kind::IDS; ++i) {
            const long long id = static_cast<long long>(next[i]);
            const bool is_there = place + i * lanes_of_bag < length;
            const bool is_padding = Kind::HAS_PADDING && id == source.padding_id;
            const bool is_row = Checks::is_below(id, source.row_count);
            rows[i] = is_there && is_row && !is_padding ? static_cast<int>(id) : -1;
            if (is_there && !is_row && !is_padding) {
                record_fault(faults, source.id_site, position + place + i * lanes_of_bag, id,
                             source.row_count);
            }
            if constexpr (Kind::HAS_WEIGHTS) {
                weight[i] = {};
                if (rows[i] >= 0) weight[i] = weights[(place + i * lanes_of_bag) * Kind::WEIGHT_STRIDE];
            }
        }
    }

    // Rows number `first` and following of the chunk. One that is not there is read elsewhere and not added:
    // a load under a condition waits for it, and the loads behind it wait too.
    __device__ __forceinline__ void load_rows(const BagSource* sources, int unit, int first) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < items; ++i) {
            const int bag = (i * 32 + lane) / Kind::PACKS % Kind::BAGS;
            const Element* const columns =
                static_cast<const Element*>(source_of(sources, unit, bag).table) +
                (i * 32 + lane) % Kind::PACKS * (Kind::VECTOR * Kind::TABLE_COLUMN);
#pragma unroll
            for (int j = 0; j < Kind::AT_ONCE; ++j) {
                const int from = (Kind::IDS == 1 ? first + j : j % lanes_of_bag) * Kind::BAGS + bag;
                const int row = __shfl_sync(all_lanes, rows[number_of(j)], from);
                row_of[i][j] = row;
                loaded[i][j] = load_row(columns + max(row, 0) * Kind::TABLE_ROW);
                if constexpr (Kind::HAS_WEIGHTS) factor[i][j] = shuffled(weight[number_of(j)], from);
            }
        }
    }

    // Asked for at once, though other work may stand before its use.
    static __device__ __forceinline__ Pack<Element, Kind::VECTOR> load_row(const Element* row) {
        if constexpr (Kind::TABLE_COLUMN == 1) {
            return load_pack_early<Kind::VECTOR>(row);
        } else {
            return Bag::load_row(row);
        }
    }

    // Which of a lane's ids is number `place` of a chunk that is loaded at once.
    static __device__ constexpr int number_of(int place) { return Kind::IDS == 1 ? 0 : place / lanes_of_bag; }

    static __device__ __forceinline__ float shuffled(float value, int from) {
        return __shfl_sync(all_lanes, value, from);
    }
    static __device__ __forceinline__ double shuffled(double value, int from) {
        return __shfl_sync(all_lanes, value, from);
    }
    template <typename Half>
    static __device__ __forceinline__ Half shuffled(Half value, int from) {
        return Half{
            static_cast<unsigned short>(__shfl_sync(all_lanes, static_cast<unsigned>(value.bits), from))};
    }

    __device__ __forceinline__ void add(typename Bag::Sum (&sums)[items]) const {
#pragma unroll
        for (int i = 0; i < items; ++i) {
#pragma unroll
            for (int j = 0; j < Kind::AT_ONCE; ++j) {
                if (row_of[i][j] >= 0) Bag::add_row(loaded[i][j], factor[i][j], sums[i]);
            }
        }
    }
};

#endif  // DLRMC_CODEGEN_CUDA_WARP_BAGS_CUH
